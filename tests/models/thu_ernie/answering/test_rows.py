"""Entities that no table has get rows that follow from the facts in closed form."""

import torch

from models.graph.knowledge import Entity, Fact
from models.graph.statement import RELATION
from models.thu_ernie.answering.rows import FoundRow, RowFinder
from models.thu_ernie.entities.table import EntityTable, EntityView
from tests.models.thu_ernie.answering.tiny import KIM, SIZE


def vector(finder: RowFinder, name: str) -> torch.Tensor:
    row = finder.find(name)
    assert row is not None
    return row.vector


def test_a_new_entity_is_where_its_facts_lead_back_to(table: EntityTable) -> None:
    finder = RowFinder(EntityView(table))
    facts = (
        Fact("birth", "place of birth", "Oslo", "oslo"),
        Fact("height", "height", "1.80 m"),
        Fact("x", "x", "y"),
    )
    row = finder.of_entity(Entity("new", "New", facts=facts))
    assert row is not None
    first = vector(finder, "oslo") - vector(finder, RELATION + "birth")
    second = vector(finder, "=1.80 m") - vector(finder, RELATION + "height")
    torch.testing.assert_close(row.vector, (first + second) / 2)
    assert row.source == "neighbours"
    assert finder.of_entity(Entity("bare", "Bare")) is None


def test_a_row_that_an_edit_wrote_names_the_edit(table: EntityTable) -> None:
    number = table.names.row_of("kim")
    view = EntityView(table, {number: torch.ones(SIZE)}, {}, {number: "edit 3"})
    row = RowFinder(view).of_entity(KIM)
    assert row == FoundRow(row.vector, "edit", "edit 3") if row else False
    assert row is not None
    assert row.vector.equal(torch.ones(SIZE))
