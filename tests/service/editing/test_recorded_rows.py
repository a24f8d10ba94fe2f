"""An editor whose system folds to other rows than the ledger recorded goes on from the recorded ones."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager

import torch

from models.blocks import Block, Image
from models.memory import Material
from models.system import Bundle
from service.editing.editor import Editor
from service.ledger import snapshots
from service.ledger.store import RedisLedger
from tests.service.editing.conftest import StartEditor
from tests.service.editing.requests import FRANCE, PERU, change, checksum, head, revert
from tests.service.toy import FACTS, TABLE, ToyMemory, ToySystem

SURGERY = {"method": "surgery"}  # rows of which the fold computes


class RoundingMemory(ToyMemory):
    """The toy's memory as another program computes it: each row of surgery has one bit more."""

    def fold(self, materials: Sequence[Material]) -> Image:
        image = super().fold(materials)
        return Image(image.base, {key: round_row(block) for key, block in image.blocks.items()})


def round_row(block: Block) -> Block:
    if block.kind != "value":
        return block
    tensors = {**block.tensors, "rounded": torch.ones(1)}
    return Block.of(block.key, block.order, block.kind, tensors)


def load_rounding(device: torch.device, dtype: torch.dtype) -> Bundle:
    memory = RoundingMemory(FACTS)
    return Bundle(ToySystem(memory), (memory,))


def load_other(device: torch.device, dtype: torch.dtype) -> Bundle:
    memory = ToyMemory({**FACTS, "What is the capital of Chad?": "N'Djamena"})
    return Bundle(ToySystem(memory), (memory,))


def start(start_editor: StartEditor, loader: str) -> AbstractAsyncContextManager[Editor]:
    return start_editor(systems={"toy": f"{__name__}:{loader}"})


async def replica_checksum(ledger: RedisLedger) -> str:
    images = await snapshots.load(ledger, await ledger.head(), {TABLE: ToyMemory(FACTS).base})
    return images[TABLE].checksum


async def test_rows_that_another_program_computed_are_kept_and_built_upon(
    editor: Editor, start_editor: StartEditor, ledger: RedisLedger
) -> None:
    await change(editor, PERU, "Cusco", **SURGERY)
    before = await checksum(editor)
    async with start(start_editor, "load_rounding") as other:
        assert await checksum(other) == before
        assert (await change(other, FRANCE, "Lyon", **SURGERY))["status"] == 201
        assert await checksum(other) == await replica_checksum(ledger) != before
        together = await checksum(other)
        assert (await change(editor, PERU, "Puno"))["status"] == 201
        assert (await revert(other, 3))["status"] == 201
        assert await checksum(other) == await replica_checksum(ledger) == together


async def test_an_undo_of_everything_gives_the_base(editor: Editor, start_editor: StartEditor) -> None:
    base = await checksum(editor)
    await change(editor, PERU, "Cusco", **SURGERY)
    await change(editor, FRANCE, "Lyon", **SURGERY)
    async with start(start_editor, "load_rounding") as other:
        assert (await revert(other, 1))["status"] == (await revert(other, 2))["status"] == 201
        assert await checksum(other) == base


async def test_rows_of_another_checkpoint_are_refused(editor: Editor, start_editor: StartEditor) -> None:
    await change(editor, PERU, "Cusco")
    async with start(start_editor, "load_other") as other:
        refused = await change(other, FRANCE, "Lyon")
        assert (refused["status"], refused["code"]) == (503, "ledger_corrupt")
        assert "another checkpoint" in refused["detail"]
    assert await head(editor) == 1
