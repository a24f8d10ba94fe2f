"""Questions about real facts have the answer that the graph gives."""

import random
from dataclasses import replace

import pytest

from models.graph.base import Base
from models.graph.memory import GraphMemory
from models.graph.statement import LABEL, Statement
from models.training.relational.pack import PackQuestions
from tests.models.training.relational.toy import MAKER

BASE = Base(
    "sha256:" + "0" * 64,
    {
        "norland": (Statement(LABEL, "Norland"), Statement("capital", "Vik", "vik")),
        "vik": (
            Statement(LABEL, "Vik"),
            Statement("mayor", "Ada", "ada"),
            Statement("mayor", "Bo", "bo"),
            Statement("height", "3 m"),
        ),
        "ada": (Statement(LABEL, "Ada"), Statement("employer", "Acme", "acme")),
        "bo": (Statement(LABEL, "Bo"), Statement("employer", "Bolt", "bolt")),
    },
    {},
)


@pytest.fixture
def questions() -> PackQuestions:
    memory = GraphMemory(BASE)
    return PackQuestions(memory.view(memory.base), MAKER.compositions, MAKER.wordings, 8, 64)


def test_a_path_goes_on_from_all_values_of_a_fact(questions: PackQuestions) -> None:
    rng = random.Random(1)
    drawings = {
        (e.path, e.ask.question): e.expected for e in (questions.draw(2, False, rng) for _ in range(40))
    }
    assert drawings[("mayor", "employer"), "Who employs the mayor of Vik?"] == "Acme, Bolt"
    assert drawings[("capital", "mayor"), "Who is the mayor of the capital of Norland?"] == "Ada, Bo"


def test_only_known_relations_are_asked_for(questions: PackQuestions) -> None:
    rng = random.Random(1)
    assert "height" not in {id for _ in range(40) for id in questions.draw(1, False, rng).path}


def test_the_graph_of_a_question_holds_what_its_path_needs(questions: PackQuestions) -> None:
    example = questions.draw(3, False, random.Random(1))
    assert example.path == ("capital", "mayor", "employer")
    assert {"norland", "vik", "ada", "bo"} <= set(example.entities)


def test_a_path_that_the_graph_lacks_is_an_error(questions: PackQuestions) -> None:
    every = replace(questions, compositions=replace(MAKER.compositions, one_in=1))
    with pytest.raises(ValueError, match="no path of 2 hops"):
        every.draw(2, False, random.Random(1))
