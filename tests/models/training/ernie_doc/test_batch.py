"""Rows point at their answers, and each is read with the memory that its document left before it."""

import random
from dataclasses import replace

import pytest
import torch
from tokenizers import Tokenizer

from models.ernie_doc.loading.checkpoint import Checkpoint
from models.ernie_doc.model import ErnieDoc
from models.ernie_doc.reading.packing import Packing
from models.ernie_doc.reading.reader import Reader
from models.training.ernie_doc.batch import (
    MEMORY_KINDS,
    NONE,
    collate,
    count_shared,
    draw_rows,
    read_memories,
)
from models.training.ernie_doc.composed import World
from models.training.ernie_doc.examples import Examples, Passage
from tests.models.training.ernie_doc.tiny import MODEL, PLAN


@pytest.fixture
def packing(tokenizer: Tokenizer) -> Packing:
    return Packing.of(tokenizer, MODEL.segment, PLAN.question_room, PLAN.overlap, MODEL.points)


@pytest.fixture
def passages(world: World, tokenizer: Tokenizer) -> list[Passage]:
    examples = Examples(world, PLAN.mixture, tokenizer, PLAN.question_room, 1)
    return [*examples.step(0), *examples.step(1)]


def test_targets_are_the_tokens_of_the_answer(passages: list[Passage], packing: Packing) -> None:
    rows = draw_rows(passages, packing, PLAN.mixture, random.Random(0))
    assert len(rows) == PLAN.mixture.n_rows
    ends = [len(packing.windows(len(passage.document))) - 1 for passage in passages]
    memories = read_memories(ErnieDoc(MODEL).eval(), passages, packing, ends)
    batch = collate(rows, passages, memories, packing)
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


def test_few_answers_need_the_memory(passages: list[Passage], packing: Packing) -> None:
    """If most answers were of this sort, the model would learn to guess instead of comparing question and text."""
    mixture = replace(PLAN.mixture, n_rows=20, memory_share=0.2)
    rows = [row for row in draw_rows(passages, packing, mixture, random.Random(0)) if row.start != NONE]
    assert sum(row.example.kind in MEMORY_KINDS for row in rows) == round(0.2 * round(20 * mixture.present))


def test_rows_without_their_answer_are_like_their_question(passages: list[Passage], packing: Packing) -> None:
    def mean_shared(n_rivals: int) -> float:
        mixture = replace(PLAN.mixture, n_rows=40, present=0.0, n_rivals=n_rivals)
        rows = draw_rows(passages, packing, mixture, random.Random(0))
        assert all(row.start == NONE for row in rows)
        return sum(count_shared(row, passages, packing) for row in rows) / len(rows)

    assert mean_shared(4) > mean_shared(1) + 0.5


def test_the_question_stands_behind_its_window(passages: list[Passage], packing: Packing) -> None:
    rows = draw_rows(passages, packing, PLAN.mixture, random.Random(0))
    ends = [len(packing.windows(len(passage.document))) - 1 for passage in passages]
    memories = read_memories(ErnieDoc(MODEL).eval(), passages, packing, ends)
    batch = collate(rows, passages, memories, packing)
    for row, ids, length in zip(rows, batch.segments.ids, batch.lengths.tolist(), strict=True):
        assert ids[length + 2 : length + 2 + len(row.example.ids)].equal(row.example.ids)


def test_memories_are_those_of_a_reader(passages: list[Passage], packing: Packing) -> None:
    model = ErnieDoc(MODEL).eval().requires_grad_(False)
    memories = read_memories(model, passages, packing, [3, 1])
    assert [len(states) for states in memories] == [4, 2]
    reader = Reader(Checkpoint(model, "tiny"), packing)
    for passage, states in zip(passages, memories, strict=True):
        before = [reader.start(), *reader.read(passage.document)]
        for actual, expected in zip(states, before, strict=False):
            torch.testing.assert_close(actual, expected.memory)


def test_a_window_with_a_part_of_the_answer_is_never_a_row(passages: list[Passage], packing: Packing) -> None:
    mixture = replace(PLAN.mixture, n_rows=10_000)
    rows = draw_rows(passages, packing, mixture, random.Random(0))
    for row in rows:
        span, window = row.example.span, packing.windows(len(passages[row.passage].document))[row.window]
        if span and row.start == NONE:
            assert not (window.first <= span[0] and span[1] < window.last)
