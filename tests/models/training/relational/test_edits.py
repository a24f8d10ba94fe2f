"""Edits of triples change the right answers of their questions and of no independent ones, and both are counted."""

import random
from dataclasses import replace

import pytest

from models.graph.base import Base
from models.graph.memory import GraphMemory
from models.graph.statement import LABEL, Statement
from models.relational.answer import Answerer
from models.training.relational.edits import (
    EditedGraph,
    at_version,
    count,
    draw_edits,
    draw_independent,
    expected,
    measure_edits,
)
from models.training.relational.exam import put
from models.training.relational.pack import PackQuestions
from tests.models.training.relational.toy import MAKER, toy_model

FIRMS = ("Acme", "Bolt", "Core", "Dyne")
PLACES = ("vik", "oos", "ern", "hol")
BASE = Base(
    "sha256:" + "0" * 64,
    {
        place: (Statement(LABEL, place.upper()), Statement("mayor", f"P{number}", f"p{number}"))
        for number, place in enumerate(PLACES)
    }
    | {
        f"p{number}": (Statement(LABEL, f"P{number}"), Statement("employer", firm, firm.lower()))
        for number, firm in enumerate(FIRMS)
    },
    {},
)


@pytest.fixture
def questions() -> PackQuestions:
    memory = GraphMemory(BASE)
    return PackQuestions(memory.view(memory.base), MAKER.compositions, MAKER.wordings, 8, 64)


def test_each_edit_changes_the_right_answer_of_its_question_at_its_version_alone(
    questions: PackQuestions,
) -> None:
    graph = EditedGraph(questions.view)
    examples, edits = draw_edits(graph, questions, 20, random.Random(1))
    assert {edit.hop for edit in edits} == {0, 1}
    for example, edit in zip(examples, edits, strict=True):
        later = at_version(example, graph.after(edit), questions)
        assert later.expected not in ("", example.expected)
        assert later.ask.question == example.ask.question
        assert expected(questions.view, example) == example.expected


def test_independent_questions_keep_their_right_answer_and_are_near_the_edit_if_possible(
    questions: PackQuestions,
) -> None:
    graph, rng = EditedGraph(questions.view), random.Random(1)
    examples, edits = draw_edits(graph, questions, 20, rng)
    for edit in edits:
        view = graph.after(edit)
        other = examples[draw_independent(examples, edit, view, rng)]
        assert expected(view, other) == other.expected
    subject = edits[0].subject
    near = replace(examples[0], entities={subject: examples[0].ask.mentions[0].entities[0]}, path=("spouse",))
    near = replace(near, expected="")
    assert draw_independent([*examples, near], edits[0], graph.after(edits[0]), rng) == len(examples)


def test_a_reader_that_walks_the_graph_follows_every_edit(questions: PackQuestions) -> None:
    figures = measure_edits(Answerer(toy_model()), questions, 12)
    assert figures.n == 12
    assert figures.n_right > 0
    assert (figures.follows, figures.stays) == (100.0, 100.0)


def test_answers_that_do_not_follow_and_that_drift_are_counted(questions: PackQuestions) -> None:
    graph, answerer = EditedGraph(questions.view), Answerer(toy_model())
    examples, edits = draw_edits(graph, questions, 4, random.Random(1))
    before = [
        replace(outcome, reply=replace(outcome.reply, answer=outcome.example.expected))
        for outcome in put(answerer, examples)
    ]
    targets = [
        at_version(example, graph.after(edit), questions)
        for example, edit in zip(examples, edits, strict=True)
    ]
    stale = [replace(outcome, example=example) for outcome, example in zip(before, targets, strict=True)]
    drifting = [
        replace(outcome, reply=replace(outcome.reply, answer="?")) for outcome in before[:1]
    ] + before[1:]
    figures = count(edits, before, stale, before, drifting)
    assert (figures.n_right, figures.follows, figures.right) == (4, 0.0, 0.0)
    assert (figures.n_given, figures.stays) == (4, 75.0)


def test_a_graph_whose_relations_have_one_value_only_cannot_be_edited(questions: PackQuestions) -> None:
    alone = Base(BASE.digest, {id: BASE.statements[id] for id in ("vik", "p0")}, {})
    memory = GraphMemory(alone)
    view = memory.view(memory.base)
    with pytest.raises(ValueError, match="only 0 of 3 questions"):
        draw_edits(EditedGraph(view), replace(questions, view=view), 3, random.Random(1))
