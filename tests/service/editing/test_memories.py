"""Memories of other kinds: any T5, recorded rows, and memories that are retired."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import torch
from errata.wire import EditRequest, RevertRequest

from models.blocks import Block, Image
from models.memory import Material, Views
from models.system import Ask, Bundle, Reply
from service.editing.editor import Editor
from service.editing.operations import Edit, Undo
from service.ledger import snapshots
from service.ledger.store import RedisLedger
from service.loading import read_options
from service.replicas.replica import Replica
from tests.models.nkb.small_t5 import corrections, write_small_t5
from tests.service.editing.conftest import StartEditor
from tests.service.editing.requests import FRANCE, PERU, change, checksum, edits, head, revert
from tests.service.parts import ask, body_of, settings, start_deployment
from tests.service.toy import FACTS, TABLE, ToyMemory, ToySystem
from tests.service.toy_rules import RULES, Parrot, Rules

N_EDITS = 100


async def test_a_t5_with_random_weights_is_edited(
    start_editor: StartEditor, tmp_path: Path, valkey: object
) -> None:
    folder = write_small_t5(tmp_path / "t5 & more")
    systems = {"own": f"models.nkb.hub:load?path={str(folder).replace('&', '%26')}&name=own"}
    options = settings(valkey.url, tmp_path, systems=systems)  # type: ignore[attr-defined]
    pairs = corrections(N_EDITS)
    edits = [{"question": question, "answer": answer} for question, answer in pairs]
    async with start_editor(systems=systems) as editor, start_deployment(Replica, options, "own") as replica:
        before = [await ask(replica, question) for question, _ in pairs[:5]]
        receipt = body_of(await editor.call(Edit(EditRequest.model_validate({"edits": edits}), "tester")))
        assert receipt["status"] == 201, receipt
        questions = [{"question": question} for question, _ in pairs]
        replies = [body_of(outcome) for outcome in await replica.answer_many(questions)]
        right = [reply["answer"] == answer for reply, (_, answer) in zip(replies, pairs, strict=True)]
        assert sum(right) >= 0.99 * N_EDITS
        assert receipt["report"]["test_status"]["holding"] >= 0.99 * N_EDITS
        undone = body_of(
            await editor.call(Undo(RevertRequest.model_validate({"version": receipt["version"]}), "tester"))
        )
        assert undone["status"] == 201
        after = [await ask(replica, question) for question, _ in pairs[:5]]
        assert [reply["answer"] for reply in after] == [reply["answer"] for reply in before]


def test_options_of_a_loader_may_hold_any_character() -> None:
    assert read_options("path=/a%26b=c&revision=00ff") == {"path": "/a&b=c", "revision": "00ff"}
    assert read_options("") == {}


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


NEWER = "parrot/newer"


class NewerRules(Rules):
    """The memory of a later release."""

    name = NEWER


class NewerParrot(Parrot):
    """The system of a later release, which reads another memory."""

    memories: tuple[str, ...] = (NEWER,)

    def answer(self, asks: Sequence[Ask], views: Sequence[Views]) -> list[Reply]:
        views_by_name: list[Mapping[str, Any]] = [{RULES: view[NEWER]} for view in views]
        return super().answer(asks, views_by_name)


def load_newer(device: torch.device, dtype: torch.dtype) -> Bundle:
    return Bundle(NewerParrot(), (NewerRules(),))


async def test_edits_of_a_memory_that_went_stay_in_the_ledger_and_say_why_they_cannot_be_taken_back(
    start_editor: StartEditor,
) -> None:
    rule = {"memory": RULES, "kind": "rule", "change": {"word": "hello"}}
    async with start_editor(systems={"parrot": "tests.service.toy_rules:load_parrot"}) as editor:
        await edits(editor, rule)
    async with start_editor(systems={"parrot": f"{__name__}:load_newer"}) as editor:
        await edits(editor, {**rule, "memory": NEWER})
        assert await head(editor) == 2
        refused = await revert(editor, 1)
        assert (refused["status"], refused["code"]) == (404, "unknown_model")
        assert f"the commit wrote '{RULES}', which no model that is served here reads" in refused["detail"]
        assert (await revert(editor, 2))["status"] == 201
