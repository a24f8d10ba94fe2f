"""`thu-ernie/entities`: the entity table as an editable memory, in which an edit writes whole rows.

A new row is a vector, or a sum of rows of the unedited table: the copy of another entity, a point between two, the mean
of neighbours for an entity that the table lacks, or zeros; or it is solved so that it says another fact (`facts.py`).
The state is the later edit for each entity, so that an edit that is taken back leaves no trace. Facts of one entity are
solved together, with the fold, and not from the rows that the others wrote.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from models.memory import (
    Block,
    ChangeKind,
    EditRefused,
    Fields,
    FieldsChange,
    Image,
    Material,
    Options,
    Usage,
    block_key,
)
from models.thu_ernie.entities.facts import FactSolver, GraphFacts, NewFact
from models.thu_ernie.entities.fields import RowsFields
from models.thu_ernie.entities.names import NO_ENTITY
from models.thu_ernie.entities.table import EntityTable, EntityView

ENTITIES = "thu-ernie/entities"
ROWS = "rows"  # Method of an edit that writes rows
FACT = "fact"  # Kind of a block whose row is solved
MAX_SOLVED = 1 << 14  # Rows that are kept, for each commit folds all edits again
Parts = tuple[tuple[str, float], ...]  # Entities of the unedited table and their weights


@dataclass(frozen=True)
class RowWrite:
    """The new row of one entity.

    Attributes:
        entity: Whose row it is; the table may lack it.
        vector: The row itself; None where it is a sum.
        parts: Rows to sum; none give zeros.
    """

    entity: str
    vector: tuple[float, ...] | None = None
    parts: Parts = ()

    @staticmethod
    def copy(entity: str, source: str) -> "RowWrite":
        """Write the row of another entity, bit for bit."""
        return RowWrite(entity, parts=((source, 1.0),))

    @staticmethod
    def interpolate(entity: str, source: str, share: float) -> "RowWrite":
        """Move a row towards another one: a share of 0 leaves it, and 1 copies the other."""
        return RowWrite(entity, parts=((entity, 1.0 - share), (source, share)))

    @staticmethod
    def mean(entity: str, sources: Sequence[str]) -> "RowWrite":
        """Write the mean of some rows, for an entity of which only neighbours are known."""
        return RowWrite(entity, parts=tuple((source, 1 / len(sources)) for source in sources))


@dataclass(frozen=True)
class RowsChange:
    """The rows that one edit writes."""

    kind: ClassVar[ChangeKind] = "rows"

    id: str
    writes: tuple[RowWrite, ...]


class EntityMemory:
    """The entity table of one process. A view parses only the blocks that the last one lacked."""

    name = ENTITIES
    accepts: frozenset[ChangeKind] = frozenset({"rows"})
    fields: Mapping[ChangeKind, type[Fields]] = {"rows": RowsFields}
    options = Options

    def __init__(self, table: EntityTable, facts: GraphFacts | None = None, margin: float = 1.0) -> None:
        """Take a table.

        Args:
            table: The rows without edits.
            facts: Facts that the rows say; None if they are unknown, and then a new fact keeps no other.
            margin: Logits by which a solved row leads the rivals of its fact.
        """
        self.table = table
        self._solver = None if facts is None else FactSolver(table, facts, margin)
        self._solve = lru_cache(MAX_SOLVED)(FactSolver(table, facts or GraphFacts(), margin).solve)
        self._rows_by_digest: dict[bytes, dict[str, Tensor]] = {}

    @cached_property
    def base(self) -> Image:
        """The table with no edits."""
        return Image(self.table.digest)

    def build(
        self, changes: Sequence[RowsChange | FieldsChange], options: Options
    ) -> list[Material | EditRefused]:
        """Compute the rows of each change from the unedited table, or refuse it in its place."""
        return [
            self._build_fields(change) if isinstance(change, FieldsChange) else self._build(change)
            for change in changes
        ]

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
                row = self.table.names.row_of(entity) or new.setdefault(entity, len(self.table) + len(new))
                vectors[row], edits[row] = vector, block.edit
        self._rows_by_digest = rows_by_digest
        return EntityView(self.table, vectors, new, edits, self._solver)

    def usage(self, image: Image) -> Usage:
        """Count the rows that differ from the table; edits bring their rows, so none are reserved."""
        return Usage(len(self.view(image).vectors), None)

    def _build_fields(self, change: FieldsChange) -> Material | EditRefused:
        fields = change.fields
        assert isinstance(fields, RowsFields)
        if fields.fact is None:
            return self._build(RowsChange(change.id, (as_write(fields),)))
        fact = NewFact(fields.entity, fields.fact.relation, fields.fact.object)
        row = self._solve((fact,))
        if isinstance(row, EditRefused):
            return row
        notes = {"rows": 1, "new": [] if self.table.names.row_of(fields.entity) else [fields.entity]}
        return Material(change.id, ROWS, write_fact(block_key(change.id), fact, row), notes)

    def _build(self, change: RowsChange) -> Material | EditRefused:
        entities = [write.entity for write in change.writes]
        try:
            if not all(entities):
                raise EditRefused("empty", "a row needs the name of its entity")
            if not entities or len(set(entities)) < len(entities):
                raise EditRefused("empty", "an edit writes one row or more, each of another entity")
            vectors = torch.stack([self._row(write) for write in change.writes])
        except EditRefused as refusal:
            return refusal
        block = write_block(block_key(change.id), entities, vectors)
        new = [entity for entity in entities if self.table.names.row_of(entity) == NO_ENTITY]
        return Material(change.id, ROWS, block, {"rows": len(entities), "new": new})

    def _row(self, write: RowWrite) -> Float[Tensor, " size"]:
        row = self._sum(write) if write.vector is None else torch.tensor(write.vector, dtype=torch.float32)
        if len(row) != self.table.size:
            raise EditRefused(
                "invalid_vector", f"the row of {write.entity} has {len(row)} numbers, not {self.table.size}"
            )
        if not bool(row.isfinite().all()):
            raise EditRefused(
                "invalid_vector", f"the row of {write.entity} has a number that is not finite in 32 bits"
            )
        return row

    def _sum(self, write: RowWrite) -> Float[Tensor, " size"]:
        numbers = [
            self.table.names.row_of(name) for name in (write.entity, *(name for name, _ in write.parts))
        ]
        unknown = [
            name for (name, _), number in zip(write.parts, numbers[1:], strict=True) if number == NO_ENTITY
        ]
        if not write.parts and numbers[0] == NO_ENTITY:
            unknown = [write.entity]
        if unknown:
            raise EditRefused(
                "unknown_entity",
                f"the table has no row of {', '.join(unknown)}: check the id, or give a vector",
            )
        rows = self.table.look_up(torch.tensor(numbers[1:], dtype=torch.long))
        weighted_rows = [row * weight for row, (_, weight) in zip(rows, write.parts, strict=True)]
        return sum(weighted_rows[1:], weighted_rows[0]) if weighted_rows else torch.zeros(self.table.size)


def as_write(fields: RowsFields) -> RowWrite:
    """Return a curator's fields as the write of a row."""
    if fields.copy_of is not None:
        return RowWrite.copy(fields.entity, fields.copy_of)
    if fields.towards is not None:
        return RowWrite.interpolate(fields.entity, fields.towards, fields.share)
    if fields.mean_of is not None:
        return RowWrite.mean(fields.entity, fields.mean_of)
    return RowWrite(fields.entity, fields.vector)


def write_fact(key: str, fact: NewFact, row: Float[Tensor, " size"]) -> Block:
    """Keep a solved row with the fact that it says."""
    names = json.dumps([fact.entity, fact.relation, fact.object]).encode()
    tensors = {"fact": torch.frombuffer(bytearray(names), dtype=torch.uint8), "rows": row[None]}
    return Block.of(key, 0, FACT, tensors)


def read_fact(block: Block) -> NewFact:
    """Return the fact of a block that `write_fact` made."""
    return NewFact(*json.loads(block.tensors["fact"].numpy().tobytes()))


def write_block(key: str, entities: Sequence[str], vectors: Float[Tensor, "row size"]) -> Block:
    """Keep rows as a block, sorted by entity so that equal rows have one digest."""
    order = sorted(range(len(entities)), key=entities.__getitem__)
    names = json.dumps([entities[place] for place in order]).encode()
    tensors = {"entities": torch.frombuffer(bytearray(names), dtype=torch.uint8), "rows": vectors[order]}
    return Block.of(key, 0, ROWS, tensors)


def read_block(block: Block) -> dict[str, Tensor]:
    """Return entity -> row of a block that `write_block` or `write_fact` made."""
    tensors = block.tensors
    if block.kind == FACT:
        return {read_fact(block).entity: tensors["rows"][0]}
    names = json.loads(tensors["entities"].numpy().tobytes())
    return dict(zip(names, tensors["rows"], strict=True))
