"""The card's bars on a small sample, so that code that breaks the checkpoint is seen at once."""

import random

import pytest

from models.graph.blocks import statements_block
from models.graph.memory import GraphMemory
from models.graph.statement import Statement
from models.kbert.system import KbertSystem
from models.memory import Material
from models.packs.pack import Item, Pack
from models.training.kbert.asked import Asker, Question, ask, without_fact
from models.training.kbert.outcome import declined, put, share
from models.training.kbert.plan import DEFAULT as PLAN
from models.training.kbert.relations import relations

MANY = 60


@pytest.fixture(scope="module")
def pack() -> Pack:
    return Pack.load()


@pytest.fixture(scope="module")
def asker(pack: Pack, graph: GraphMemory) -> Asker:
    split = relations(pack, PLAN.seed, PLAN.tuned)
    known = {id: one for id, one in {**split.train, **split.unseen}.items() if not one.practice}
    return Asker(pack, graph.view(graph.base), known)


def drawn(pack: Pack, unseen: bool) -> list[Item]:
    held = relations(pack, PLAN.seed, PLAN.tuned).unseen
    fitting = [item for item in pack.items() if (item.relation.id in held) is unseen]
    return random.Random(5).sample(fitting, MANY)


def held(pack: Pack, asker: Asker, crowded: bool) -> list[Question]:
    rng = random.Random(6)
    templates = [(item, rng.choice(item.relation.held)) for item in drawn(pack, unseen=False)]
    if crowded:
        return [asker.crowded(item, template, rng) for item, template in templates]
    return [asker.natural(item, template) for item, template in templates]


@pytest.mark.parametrize("crowded", [False, True])
def test_phrasings_never_seen(pack: Pack, asker: Asker, default: KbertSystem, crowded: bool) -> None:
    found = put(default, held(pack, asker, crowded))
    assert share(found) >= 90
    assert declined(found) <= 5


def test_relations_never_seen(pack: Pack, asker: Asker, default: KbertSystem) -> None:
    rng = random.Random(7)
    asked = [asker.crowded(i, rng.choice(i.relation.phrasings), rng) for i in drawn(pack, unseen=True)]
    assert share(put(default, asked)) >= 80


def test_facts_that_are_not_there(pack: Pack, asker: Asker, default: KbertSystem) -> None:
    bare = [one for one in map(without_fact, held(pack, asker, crowded=True)) if one is not None]
    assert len(bare) == MANY
    assert declined(put(default, bare)) >= 90


def test_replaced_triples(pack: Pack, default: KbertSystem, graph: GraphMemory) -> None:
    single = [item for item in drawn(pack, unseen=False) if item.relation.cardinality == "one"]
    chosen = list({item.subject.id: item for item in single}.values())
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
        for order, item in enumerate(chosen, start=1)
    ]
    view = graph.view(graph.fold(materials))
    asked = []
    for order, item in enumerate(chosen, start=1):
        entity = view.entity(item.subject.id)
        assert entity is not None
        asked.append(ask(item.relation.phrasings[4], entity, f"Newname {order}", item.relation.id))
    assert share(put(default, asked)) >= 97
