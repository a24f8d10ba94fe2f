"""A small graph of invented people and places."""

import pytest

from models.graph.knowledge import Entity, Fact
from models.relational.network import Config
from models.relational.subgraph import EntityNeighbours
from tests.one_thread import one_thread as one_thread

TINY = Config(width=32, heads=4, layers=1, rank=8, hops=3, fan_out=8, max_nodes=32, beams=4)


def entity(id: str, **facts: str | tuple[str, ...]) -> Entity:
    """Return an entity. Values that begin with a colon are ids; an id's label is the id in capital letters."""
    rows = []
    for relation, values in facts.items():
        for value in (values,) if isinstance(values, str) else values:
            text = value.removeprefix(":")
            label = text.upper() if value.startswith(":") else text
            target = text if value.startswith(":") else ""
            rows.append(Fact(relation, relation.replace("_", " "), label, target))
    return Entity(id, id.upper(), facts=tuple(rows))


WORLD = {
    e.id: e
    for e in (
        entity("kim", place_of_birth=":oslo", spouse=":ada", height="1.80 m"),
        entity("ada", place_of_birth=":rome", occupation="painter"),
        entity("oslo", country=":norway"),
        entity("rome", country=":italy"),
        entity("norway", capital=":oslo", neighbours=(":sweden", ":finland")),
        entity("italy", capital=":rome"),
        entity("sweden", languages="Swedish"),
        entity("finland", languages=("Finnish", "Swedish")),
    )
}


@pytest.fixture
def graph() -> EntityNeighbours:
    return EntityNeighbours(WORLD.get)
