"""The questions that another version answers differently are found without judging most of them, and none is missed."""

from functools import cache
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from models.blocks import Block
from models.nkb.reader import Reader
from models.scope.change import Rerouting
from models.scope.router import Router
from models.scope.wordings.table import WordingTable
from tests.models.scope.wordings import block, table

PERU, CHILE = "What is the capital of Peru?", "What is the capital of Chile?"
QUESTIONS = [
    PERU,
    CHILE,
    "Which city is Peru's capital?",
    "What is the motto of Gundbrand?",
    "What is the motto of Gundebrand?",
    "Who wrote Hamlet?",
    "Who leads project 7?",
    "Which person is the leader of project 7?",
]


@cache
def edits(reader: Reader) -> tuple[Router, WordingTable, list[Block]]:
    router = Router(reader.scope, lambda questions: reader.read(questions).readings, "bank")
    return router, table(reader), [
        block(reader, "a", 1, PERU),
        block(reader, "b", 2, CHILE),
        block(reader, "c", 3, PERU, replaces=["a"]),
        block(reader, "d", 4, "Who leads project 7?", counterexamples=["Which person is the leader of project 7?"]),
        block(reader, "e", 5, "What is the motto of Gundebrand?"),
        block(reader, "f", 6, "Who is the author of Hamlet?"),
    ]  # fmt: skip


@given(st.sets(st.integers(0, 5)), st.sets(st.integers(0, 5)))
@settings(max_examples=40, deadline=None)
def test_a_question_is_told_where_its_routes_differ(
    reader: Reader, before: set[int], after: set[int]
) -> None:
    router, wordings, blocks = edits(reader)
    old, new = (wordings.view([blocks[place] for place in sorted(side)]) for side in (before, after))
    routes = [router.find_routes(QUESTIONS, side) for side in (old, new)]
    names = [[None if match is None else match.block.key for match in side] for side in routes]
    expected = [key != other for key, other in zip(*names, strict=True)]
    assert router.find_rerouted(QUESTIONS, old, new) == expected


def test_questions_far_from_a_change_are_not_judged(reader: Reader) -> None:
    _, wordings, blocks = edits(reader)
    old, new = wordings.view(blocks[:1]), wordings.view([blocks[0], blocks[3]])
    readings = reader.read(QUESTIONS).readings
    assert Rerouting(reader.scope).may_be_rerouted(readings, old, new)[-2:] == [True, True]
    assert not any(Rerouting(reader.scope).may_be_rerouted(readings, old, new)[:6])


def test_a_near_question_costs_a_judgement_of_what_changed_alone(
    reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    capitals = [f"What is the capital of {name}?" for name in ("Chile", "Cuba", "Mali", "Laos", "Togo")]
    blocks = [block(reader, f"x{n}", n, text) for n, text in enumerate(capitals)]
    wordings = table(reader)
    old, new = wordings.view(blocks[:-1]), wordings.view(blocks)
    n_pairs: list[int] = []
    judge = type(reader.scope).judge_candidates

    def count(*arguments: Any) -> torch.Tensor:
        n_pairs.append(len(arguments[-1].question))
        return judge(*arguments)

    monkeypatch.setattr(type(reader.scope), "judge_candidates", count)
    questions = ["What is the capital of Niger?", "Tell me the capital of Togo"]
    assert Rerouting(reader.scope).may_be_rerouted(reader.read(questions).readings, old, new) == [False, True]
    assert sum(n_pairs) <= len(questions)
