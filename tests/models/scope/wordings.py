"""Edits as the scope sees them: blocks made of questions, and the edit that answers a question."""

from collections.abc import Sequence

import torch

from models.blocks import Block, block_key
from models.nkb.reader import Reader
from models.scope.active import ActiveEdits
from models.scope.wordings.block import write_block
from models.scope.wordings.table import WordingTable


def block(
    reader: Reader,
    name: str,
    order: int,
    *wordings: str,
    replaces: Sequence[str] = (),
    counterexamples: Sequence[str] = (),
) -> Block:
    texts = [*wordings, *counterexamples]
    tensors = write_block(texts, reader.read(texts).readings, replaces, len(counterexamples))
    return Block.of(block_key(name), order, "gated", tensors)


def table(reader: Reader) -> WordingTable:
    return WordingTable(reader.scope.judge, reader.device)


def view(reader: Reader, *blocks: Block) -> ActiveEdits:
    return table(reader).view(blocks)


@torch.inference_mode()
def ask(reader: Reader, edits: ActiveEdits, *questions: str) -> list[str | None]:
    matches = reader.scope.route(reader.read(questions).readings, [edits] * len(questions))
    return [match and match.edit for match in matches]
