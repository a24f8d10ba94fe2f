"""Rows point at their answers, and each is read with the memory that its document left before it."""

import random

import pytest
import torch
from tokenizers import Tokenizer

from models.ernie_doc.checkpoint import Checkpoint
from models.ernie_doc.config import ErnieDocConfig
from models.ernie_doc.model import ErnieDoc
from models.ernie_doc.reader import Packing, Reader
from models.training.ernie_doc.batch import (
    NONE,
    collate,
    draw_rows,
    read_memories,
)
from models.training.ernie_doc.composed import World
from models.training.ernie_doc.examples import Examples, Passage
from tests.models.training import toys
from tests.models.training.toys import ERNIE_DOC as PLAN


@pytest.fixture
def packing() -> Packing:
    return toys.packing()


@pytest.fixture
def passages(world: World, tokenizer: Tokenizer) -> list[Passage]:
    examples = Examples(world, PLAN.mixture, tokenizer, PLAN.question_room, 1)
    return [*examples.step(0), *examples.step(1)]


def test_targets_are_the_tokens_of_the_answer(passages: list[Passage], packing: Packing) -> None:
    rows = draw_rows(passages, packing, PLAN.mixture, random.Random(0))
    assert len(rows) == PLAN.mixture.n_rows
    ends = [len(packing.windows(len(passage.document))) - 1 for passage in passages]
    memories = read_memories(ErnieDoc(PLAN.model.make(ErnieDocConfig)).eval(), passages, packing, ends)
    batch = collate(rows, memories, packing)
    answers = 0
    for row, ids, (start, end) in zip(rows, batch.segments.ids, batch.targets.tolist(), strict=True):
        if start != NONE:
            first, last = row.example.span or (0, 0)
            expected = passages[row.passage].document.ids[first : last + 1]
            assert ids[start : end + 1].equal(expected)
            answers += 1
        else:
            assert end == NONE
    assert answers == round(PLAN.mixture.n_rows * PLAN.mixture.present)


def test_memories_are_those_of_a_reader(passages: list[Passage], packing: Packing) -> None:
    model = ErnieDoc(PLAN.model.make(ErnieDocConfig)).eval().requires_grad_(False)
    memories = read_memories(model, passages, packing, [3, 1])
    assert [len(states) for states in memories] == [4, 2]
    reader = Reader(Checkpoint(model, "tiny"), packing)
    for passage, states in zip(passages, memories, strict=True):
        before = [reader.start(), *reader.read(passage.document)]
        for actual, expected in zip(states, before, strict=False):
            torch.testing.assert_close(actual, expected.memory)
