"""A row says a new fact beside the old ones; facts of one entity are solved together, and leave no trace."""

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from pydantic import ValidationError

from models.graph.base import Base
from models.graph.knowledge import Entity, Fact
from models.graph.statement import LABEL, RELATION, Statement
from models.memory import EditRefused, FieldsChange, Material, Options
from models.thu_ernie.entities.facts import GraphFacts
from models.thu_ernie.entities.memory import EntityMemory, RowsFields
from models.thu_ernie.entities.table import EntityTable, EntityView, write_table
from models.thu_ernie.finder import RowFinder

SIZE, MARGIN = 24, 2.0
NODES = ("kim", "ada", "oslo", "rome", "lima", "acme", "=1.80 m", "=1.70 m")
RELATIONS = ("birth", "employer", "height")
STATEMENTS = {
    "kim": (
        Statement(LABEL, "Kim"),
        Statement("birth", "Oslo", "oslo"),
        Statement("employer", "Acme", "acme"),
        Statement("height", "1.80 m"),
    ),
    "ada": (
        Statement("birth", "Rome", "rome"),
        Statement("birth", "Lima", "lima"),
        Statement("height", "1.70 m"),
    ),
}


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> EntityMemory:
    """Return a memory whose rows say the statements: objects lie around the row of their relation."""
    rng = np.random.default_rng(3)
    facts = GraphFacts.of(Base("sha256:" + "0" * 64, STATEMENTS, {}))
    rows = {name: rng.normal(size=SIZE) for name in NODES}
    rows |= {RELATION + relation: 3 * rng.normal(size=SIZE) for relation in RELATIONS}
    for relation, objects in facts.by_relation.items():
        rows |= {name: rows[name] + rows[RELATION + relation] for name in objects}
    for entity, relations in facts.by_entity.items():
        solutions = [rows[o] - rows[RELATION + r] for r, objects in relations.items() for o in objects]
        rows[entity] = np.mean(solutions, axis=0)
    folder = tmp_path_factory.mktemp("facts")
    matrix = np.array(list(rows.values()), np.float32)
    write_table(folder, SIZE, [matrix], ((name, place) for place, name in enumerate(rows)))
    return EntityMemory(EntityTable.open(folder, SIZE), facts, MARGIN)


def fact(id: str, entity: str, relation: str, object: str) -> FieldsChange:
    return FieldsChange(
        id,
        "rows",
        RowsFields.model_validate({"entity": entity, "fact": {"relation": relation, "object": object}}),
    )


def build(memory: EntityMemory, *changes: FieldsChange) -> list[Material]:
    materials = memory.build(changes, Options())
    assert not [material for material in materials if isinstance(material, EditRefused)]
    return [material for material in materials if isinstance(material, Material)]


def lead(view: EntityView, entity: str, relation: str, right: str, wrong: Sequence[str]) -> float:
    """Return by how much a fact leads the nearest of some others."""

    def row(name: str) -> torch.Tensor:
        return view.look_up(torch.tensor([view.row_of(name)]))[0].double()

    place = row(entity) + row(RELATION + relation)
    return float(place @ row(right)) - max(float(place @ row(name)) for name in wrong)


def test_a_new_fact_leads_and_the_others_stay(memory: EntityMemory) -> None:
    base = memory.view(memory.base)
    assert lead(base, "kim", "birth", "rome", ["oslo"]) < 0
    view = memory.view(memory.fold(build(memory, fact("e1", "kim", "birth", "rome"))))
    assert lead(view, "kim", "birth", "rome", ["oslo", "lima", "acme", "=1.80 m"]) >= MARGIN * 0.99
    assert lead(view, "kim", "employer", "acme", ["rome", "=1.80 m"]) > 0
    assert lead(view, "kim", "height", "=1.80 m", ["rome", "acme"]) > 0
    assert view.edits == {view.row_of("kim"): "e1"}


def test_facts_of_one_entity_are_solved_together(memory: EntityMemory) -> None:
    materials = build(memory, fact("e1", "kim", "birth", "rome"), fact("e2", "kim", "height", "=1.70 m"))
    view = memory.view(memory.fold(materials))
    assert lead(view, "kim", "birth", "rome", ["oslo", "lima", "acme"]) >= MARGIN * 0.99
    assert lead(view, "kim", "height", "=1.70 m", ["=1.80 m", "acme"]) >= MARGIN * 0.99


def test_taking_a_fact_back_leaves_what_the_other_gives_alone(memory: EntityMemory) -> None:
    first, second = build(memory, fact("e1", "kim", "birth", "rome"), fact("e2", "kim", "height", "=1.70 m"))
    together = memory.fold([first, second])
    assert together.checksum != memory.fold([second]).checksum
    alone = memory.view(memory.fold([second]))
    direct = memory.view(memory.fold(build(memory, fact("e2", "kim", "height", "=1.70 m"))))
    number = alone.row_of("kim")
    assert alone.vectors[number].equal(direct.vectors[number])
    assert memory.fold([]).checksum == memory.base.checksum
    assert memory.fold([first, second]).checksum == together.checksum


def test_an_entity_that_the_table_lacks_is_solved_from_its_fact(memory: EntityMemory) -> None:
    [material] = build(memory, fact("e1", "new", "birth", "rome"))
    view = memory.view(memory.fold([material]))
    assert lead(view, "new", "birth", "rome", ["oslo", "lima"]) >= MARGIN * 0.99
    assert material.notes["new"] == ["new"]


def test_a_row_follows_the_edits_of_the_graph_while_it_is_read(memory: EntityMemory) -> None:
    view = memory.view(memory.base)
    facts = (
        Fact("birth", "place of birth", "Rome", "rome", "e1"),
        Fact("employer", "employer", "Acme", "acme"),
        Fact("height", "height", "1.80 m"),
    )
    entity = Entity("kim", "Kim", facts=facts)
    finder = RowFinder(view)
    row = finder.of_entity(entity)
    assert row is not None
    assert row.source == "facts"
    direct = memory.view(memory.fold(build(memory, fact("e1", "kim", "birth", "rome"))))
    torch.testing.assert_close(row.vector, direct.vectors[direct.row_of("kim")])
    plain = finder.of_entity(Entity("kim", "Kim", facts=facts[1:]))
    assert plain is not None
    assert plain.source == "table"
    explicit = RowFinder(direct).of_entity(entity)
    assert explicit is not None
    assert explicit.source == "edit"
    busy_entity = Entity("kim", "Kim", facts=facts * 9)
    assert view.solve_edited is not None
    assert view.solve_edited(busy_entity) is None


def test_an_object_without_a_row_is_refused(memory: EntityMemory) -> None:
    [refusal] = memory.build([fact("e1", "kim", "birth", "paris")], Options())
    assert isinstance(refusal, EditRefused)
    assert refusal.code == "unknown_entity"
    assert "paris" in refusal.detail


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"vector": [1.0] * SIZE}, lambda base: torch.ones(SIZE)),
        ({"copy_of": "rome"}, lambda base: base("rome")),
    ],
)
def test_rows_are_written_as_a_curator_says(memory: EntityMemory, fields: dict, expected) -> None:  # type: ignore
    def base(name: str) -> torch.Tensor:
        return memory.table.look_up(torch.tensor([memory.table.row_of(name)]))[0]

    change = FieldsChange("e1", "rows", RowsFields.model_validate({"entity": "oslo", **fields}))
    view = memory.view(memory.fold(build(memory, change)))
    torch.testing.assert_close(view.look_up(torch.tensor([view.row_of("oslo")]))[0], expected(base))
    assert change.fields.summarize().startswith("oslo: ")


@pytest.mark.parametrize(
    "fields",
    [{}, {"vector": [1.0], "copy_of": "rome"}, {"vector": [float("nan")]}, {"copy_of": "rome", "share": 0.5}],
)
def test_a_change_is_said_in_exactly_one_way(fields: dict) -> None:  # type: ignore
    with pytest.raises(ValidationError):
        RowsFields.model_validate({"entity": "oslo", **fields})
