"""The card's bars on a small sample, so that code that breaks the checkpoint is seen at once."""

import random
from collections.abc import Sequence

import pytest

from models.graph.blocks import statements_block
from models.graph.memory import GraphMemory
from models.graph.statement import Statement
from models.kbert.system import KbertSystem
from models.memory import Material
from models.packs.pack import Item, Pack
from models.training.kbert.texts import QuestionMaker, RelationQuestion, ask_about, without_fact
from models.training.kbert.training import PLAN
from models.training.kit.exam import Figures, Question, count
from models.training.kit.exam import put as put_to
from models.training.texts.relations import split_relations

SAMPLE = 60


def put(system: KbertSystem, questions: Sequence[Question]) -> Figures:
    return count(put_to(system, questions, {}))


@pytest.fixture(scope="module")
def pack() -> Pack:
    return Pack.load()


@pytest.fixture(scope="module")
def maker(pack: Pack, graph: GraphMemory) -> QuestionMaker:
    split = split_relations(pack, PLAN.seed, PLAN.n_tuning)
    relations = {**split.train, **split.held_out}
    of_pack = {id: relation for id, relation in relations.items() if not relation.is_practice}
    return QuestionMaker(pack, graph.view(graph.base), of_pack)


def draw_items(pack: Pack, of_held_out: bool) -> list[Item]:
    held_out = split_relations(pack, PLAN.seed, PLAN.n_tuning).held_out
    fitting = [item for item in pack.items() if (item.relation.id in held_out) is of_held_out]
    return random.Random(5).sample(fitting, SAMPLE)


def held_phrasings(pack: Pack, maker: QuestionMaker, with_crowd: bool) -> list[RelationQuestion]:
    rng = random.Random(6)
    templates = [(item, rng.choice(item.relation.held_out)) for item in draw_items(pack, of_held_out=False)]
    if with_crowd:
        return [maker.with_crowd(item, template, rng) for item, template in templates]
    return [maker.natural(item, template) for item, template in templates]


@pytest.mark.parametrize("with_crowd", [False, True])
def test_phrasings_never_seen(
    pack: Pack, maker: QuestionMaker, default: KbertSystem, with_crowd: bool
) -> None:
    figures = put(default, held_phrasings(pack, maker, with_crowd))
    assert figures["right"] >= 90
    assert figures["declined"] <= 5


def test_relations_never_seen(pack: Pack, maker: QuestionMaker, default: KbertSystem) -> None:
    rng = random.Random(7)
    questions = [
        maker.with_crowd(i, rng.choice(i.relation.phrasings), rng) for i in draw_items(pack, of_held_out=True)
    ]
    assert put(default, questions)["right"] >= 80


def test_facts_that_are_not_there(pack: Pack, maker: QuestionMaker, default: KbertSystem) -> None:
    questions = [
        bare for bare in map(without_fact, held_phrasings(pack, maker, with_crowd=True)) if bare is not None
    ]
    assert len(questions) == SAMPLE
    assert put(default, questions)["declined"] >= 90


def test_replaced_triples(pack: Pack, default: KbertSystem, graph: GraphMemory) -> None:
    single = [item for item in draw_items(pack, of_held_out=False) if item.relation.cardinality == "one"]
    items = list({item.subject.id: item for item in single}.values())
    materials = [
        Material(
            f"e{order}",
            "graph",
            statements_block(
                f"edit/e{order}",
                order,
                {item.subject.id: (Statement(item.relation.id, f"Newname {order}", "", "set"),)},
            ),
        )
        for order, item in enumerate(items, start=1)
    ]
    view = graph.view(graph.fold(materials))
    questions = []
    for order, item in enumerate(items, start=1):
        entity = view.entity(item.subject.id)
        assert entity is not None
        questions.append(ask_about(item.relation.phrasings[4], entity, f"Newname {order}", item.relation.id))
    assert put(default, questions)["right"] >= 97
