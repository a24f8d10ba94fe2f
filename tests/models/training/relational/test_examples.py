"""Drawn questions: their answers follow from their graphs, and their words name every relation of the path.

Questions about real facts have the answer that the graph gives.
"""

import random
from collections.abc import Mapping
from dataclasses import replace

import pytest

from models.graph.base import Base
from models.graph.knowledge import Entity
from models.graph.memory import GraphMemory
from models.graph.statement import LABEL, Statement
from models.relational.network import Config
from models.training.relational.exam import PackQuestions
from models.training.relational.examples import Example, ExampleMaker
from models.training.relational.wordings import COUNT, ENTITIES, YES_NO
from tests.models.training.relational.test_learning import MAKER, MIXTURE, PLAN


def walk(entities: Mapping[str, Entity], start: str, labels: tuple[str, ...]) -> list[str]:
    """Return the labels at the end of a path of labels."""
    ids, ends = [start], list[str]()
    for label in labels:
        facts = [f for id in ids if id in entities for f in entities[id].facts if f.label == label]
        ids, ends = [fact.object_id for fact in facts], [fact.object for fact in facts]
    return ends


def of_form(count: float, yes_no: float) -> ExampleMaker:
    return replace(MAKER, mixture=MIXTURE.change(count=count, yes_no=yes_no))


def examples(maker: ExampleMaker, is_broken: bool, number: int = 60) -> list[Example]:
    rng = random.Random("examples")
    return [
        maker.make(maker.compositions.draw(rng.choice((1, 2, 3)), False, rng), rng, is_broken)
        for _ in range(number)
    ]


def start_of(example: Example) -> str:
    return example.ask.mentions[example.start].entities[0].id


@pytest.mark.parametrize("form", [ENTITIES, COUNT, YES_NO])
def test_the_expected_answer_is_what_the_path_leads_to(form: str) -> None:
    for example in examples(of_form(float(form == COUNT), float(form == YES_NO)), False):
        ends = walk(example.entities, start_of(example), example.labels)
        assert example.form == form
        if form == ENTITIES:
            assert example.expected == ", ".join(sorted(ends))
        elif form == COUNT:
            assert example.expected == str(len(ends))
        else:
            assert (example.expected == "yes") == any(
                end
                in example.ask.question.removesuffix(example.ask.mentions[example.start].entities[0].label)
                for end in ends
            )


def test_where_a_fact_is_missing_the_path_leads_nowhere_and_the_walk_is_told() -> None:
    for example in examples(MAKER, True):
        assert walk(example.entities, start_of(example), example.labels) == []
        assert example.expected is None
        assert {target for _, target in example.hops[-1]} == {"@null"}


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
