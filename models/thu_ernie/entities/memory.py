"""`thu-ernie/entities`: the entity table as an editable memory, in which an edit writes the row of one entity.

The new row is a vector, the copy of a row of the unedited table, or it is solved so that it says another fact
(`facts.py`). The state is the later edit for each entity, so that an edit that is taken back leaves no trace. Facts of
one entity are solved together, with the fold, and not from the rows that the others wrote.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import Annotated, Any

import torch
from jaxtyping import Float
from pydantic import Field, FiniteFloat, model_validator
from torch import Tensor

from models.blocks import Block, Image, block_key
from models.kit.material import UnionMemory, read_text, to_tensor
from models.memory import ChangeKind, EditRefused, Fields, FieldsChange, Material, Usage
from models.thu_ernie.entities.facts import FactSolver, GraphFacts, NewFact
from models.thu_ernie.entities.table import NO_ENTITY, EntityTable, EntityView

ENTITIES = "thu-ernie/entities"
ROWS = "rows"  # Method of an edit that writes rows, and kind of a block
FACT = "fact"  # Kind of a block whose row is solved
MAX_SOLVED = 1 << 14  # Rows that are kept, for each commit folds all edits again
WAYS = ("vector", "copy_of", "fact")
Name = Annotated[str, Field(min_length=1, max_length=300)]


class FactFields(Fields):
    """A fact that the row of its subject shall say."""

    relation: Name
    object: Name  # id of an entity, or `=` and the text of a value


class RowsFields(Fields):
    """The new row of one entity, which the table may lack, in one of the ways."""

    entity: Name
    vector: tuple[FiniteFloat, ...] | None = Field(None, max_length=10_000)
    copy_of: Name | None = None
    fact: FactFields | None = None

    @model_validator(mode="after")
    def _check_ways(self) -> "RowsFields":
        ways = [way for way in WAYS if getattr(self, way) is not None]
        if len(ways) != 1:
            raise ValueError(f"say what the row is in one of the ways {', '.join(WAYS)}, not in {len(ways)}")
        return self

    def summarize(self) -> str:
        """Return the change in words."""
        if self.fact is not None:
            return f"{self.entity}: {self.fact.relation} is {self.fact.object}"
        if self.vector is not None:
            return f"{self.entity}: a vector of {len(self.vector)} numbers"
        return f"{self.entity}: {self.copy_of}"

    def outline(self) -> dict[str, Any]:
        """Return the fields without the numbers of a vector."""
        size = {} if self.vector is None else {"vector": f"{len(self.vector)} numbers"}
        return super().outline() | size


class EntityMemory(UnionMemory):
    """The entity table of one process. A view parses only the blocks that the last one lacked.

    Args:
        table: The rows without edits.
        facts: Facts that the rows say; None if they are unknown, and then a new fact keeps no other.
        margin: Logits by which a solved row leads the rivals of its fact.
    """

    name = ENTITIES
    accepts: frozenset[ChangeKind] = frozenset({"rows"})
    fields: Mapping[ChangeKind, type[Fields]] = {"rows": RowsFields}

    def __init__(self, table: EntityTable, facts: GraphFacts | None = None, margin: float = 1.0) -> None:
        self.table, solver = table, FactSolver(table, facts or GraphFacts(), margin)
        self._solve = lru_cache(MAX_SOLVED)(solver.solve)
        self._solve_edited = None if facts is None else solver.solve_edited
        self._rows_by_digest: dict[bytes, dict[str, Tensor]] = {}

    @cached_property
    def base(self) -> Image:
        """The table with no edits."""
        return Image(self.table.digest)

    def fold(self, materials: Sequence[Material]) -> Image:
        """Keep each active edit as a block; of two that write one entity, the view reads the later.

        The block of a fact holds the row that says it together with all earlier facts of its entity.
        """
        blocks = {}
        news: dict[str, tuple[NewFact, ...]] = {}
        for material in materials:
            block = material.block
            if block.kind == FACT:
                fact = read_fact(block)
                news[fact.entity] = (*news.get(fact.entity, ()), fact)
                row = self._solve(news[fact.entity])
                assert isinstance(row, Tensor), "each fact was solved alone before"
                block = replace(write_fact(block.key, fact, row), order=block.order)
            blocks[block.key] = block
        return Image(self.base.base, blocks)

    def view(self, image: Image) -> EntityView:
        """Put the rows of an image in front of the table, in the order of the ledger."""
        rows_by_digest = {}
        vectors: dict[int, Tensor] = {}
        new: dict[str, int] = {}
        edits: dict[int, str] = {}
        for block in image.ordered_blocks:
            parsed_rows = self._rows_by_digest.get(block.sha256) or read_block(block)
            rows_by_digest[block.sha256] = parsed_rows
            for entity, vector in parsed_rows.items():
                row = self.table.row_of(entity) or new.setdefault(entity, len(self.table) + len(new))
                vectors[row], edits[row] = vector, block.edit
        self._rows_by_digest = rows_by_digest
        return EntityView(self.table, vectors, new, edits, self._solve_edited)

    def usage(self, image: Image) -> Usage:
        """Count the rows that differ from the table; edits bring their rows, so none are reserved."""
        return Usage(len(self.view(image).vectors), None)

    def make(self, change: FieldsChange) -> Material:
        """Compute the row of a change from the unedited table. EditRefused: it cannot be computed."""
        fields, key = change.fields, block_key(change.id)
        assert isinstance(fields, RowsFields)
        if fields.fact is not None:
            fact = NewFact(fields.entity, fields.fact.relation, fields.fact.object)
            row = self._solve((fact,))
            if isinstance(row, EditRefused):
                raise row
            block = write_fact(key, fact, row)
        else:
            row = self._copy(fields.copy_of) if fields.vector is None else self._check_vector(fields)
            names = to_tensor(json.dumps([fields.entity]))
            block = Block.of(key, 0, ROWS, {"entities": names, "rows": row[None]})
        is_new = self.table.row_of(fields.entity) == NO_ENTITY
        return Material(change.id, ROWS, block, {"rows": 1, "new": [fields.entity] if is_new else []})

    def _check_vector(self, fields: RowsFields) -> Float[Tensor, " size"]:
        row = torch.tensor(fields.vector, dtype=torch.float32)
        if len(row) != self.table.size:
            fault = f"{len(row)} numbers, not {self.table.size}"
        elif not bool(row.isfinite().all()):
            fault = "a number that is not finite in 32 bits"
        else:
            return row
        raise EditRefused("invalid_vector", f"the row of {fields.entity} has {fault}")

    def _copy(self, source: str | None) -> Float[Tensor, " size"]:
        row = self.table.row_of(source or "")
        if row == NO_ENTITY:
            detail = f"the table has no row of {source}: check the id, or give a vector"
            raise EditRefused("unknown_entity", detail)
        return self.table.look_up(torch.tensor([row]))[0]


def write_fact(key: str, fact: NewFact, row: Float[Tensor, " size"]) -> Block:
    """Keep a solved row with the fact that it says."""
    names = [fact.entity, fact.relation, fact.object]
    return Block.of(key, 0, FACT, {"fact": to_tensor(json.dumps(names)), "rows": row[None]})


def read_fact(block: Block) -> NewFact:
    """Return the fact of a block that `write_fact` made."""
    return NewFact(*json.loads(read_text(block, "fact")))


def read_block(block: Block) -> dict[str, Tensor]:
    """Return entity -> row of a block; those of former releases may hold several."""
    tensors = block.tensors
    if block.kind == FACT:
        return {read_fact(block).entity: tensors["rows"][0]}
    names = json.loads(read_text(block, "entities"))
    return dict(zip(names, tensors["rows"], strict=True))
