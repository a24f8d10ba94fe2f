"""Questions about real facts have the answer that the graph gives."""

import random

import pytest

from models.graph.base import Base
from models.graph.memory import GraphMemory
from models.graph.statement import LABEL, Statement
from models.relational.network import Config
from models.training.relational.exam import PackQuestions
from tests.models.training.relational.toy import MAKER, PLAN

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
    return PackQuestions(
        memory.view(memory.base), MAKER.compositions, MAKER.wordings, PLAN.config.make(Config)
    )


def test_a_path_goes_on_from_all_values_of_a_fact(questions: PackQuestions) -> None:
    rng = random.Random(1)
    drawings = {
        (e.path, e.ask.question): e.expected for e in (questions.draw(2, False, rng) for _ in range(40))
    }
    assert drawings[("mayor", "employer"), "Who employs the mayor of Vik?"] == "Acme, Bolt"
    assert drawings[("capital", "mayor"), "Who is the mayor of the capital of Norland?"] == "Ada, Bo"
