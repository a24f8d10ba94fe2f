"""Everything that an answer needs: rows of a graph's entities, values and relations, and the passes of the encoder.

TransE (Bordes et al., 2013) puts s + r near o. So an entity without a row has one in closed form: the mean of o - r
over its facts, the least-squares solution of them all. An object without a row is s + r, where its subject's fact says
it is. A row is named by the entity, a literal value by its text, a relation by the id under which a graph describes it.

Rows of one pass are of like length; the result of a text depends on no other text and on no padding (1e-5).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, TypeAlias

import torch
from jaxtyping import Float, Int
from torch import Tensor

from models.confidence import Confidence
from models.graph.knowledge import Entity, Fact
from models.graph.statement import RELATION
from models.kit.batching import by_length
from models.thu_ernie.entities.table import NO_ENTITY, EntityTable, EntityView, row_name
from models.thu_ernie.heads import ErnieAnswers
from models.thu_ernie.row import MaskedRow, Row, Vocabulary, collate

Source: TypeAlias = Literal["table", "edit", "facts", "neighbours"]


@dataclass(frozen=True)
class FoundRow:
    """A row and its origin."""

    vector: Float[Tensor, " size"]
    source: Source  # `facts`: those that an edit of the graph changed; `neighbours`: those in the graph
    edit: str = ""  # the edit that wrote it


@dataclass(frozen=True)
class RowFinder:
    """Finds rows at one version."""

    view: EntityView

    def find(self, name: str) -> FoundRow | None:
        """Return the row of a name; None where neither the table nor an edit has it."""
        row = self.view.row_of(name)
        if row == NO_ENTITY:
            return None
        edit = self.view.edits.get(row, "")
        vector = self.view.look_up(torch.tensor([row]))[0]
        return FoundRow(vector, "edit" if edit else "table", edit)

    def of_entity(self, entity: Entity) -> FoundRow | None:
        """Return the row of an entity; it follows from the facts if the entity has none or the graph edits them."""
        row = self.find(entity.id)
        if row is None:
            return self._mean(self._solve(fact) for fact in entity.facts)
        solve = self.view.solve_edited
        vector = solve(entity) if solve is not None and not row.edit else None
        return row if vector is None else FoundRow(vector, "facts")

    def of_object(self, subject: FoundRow | None, fact: Fact) -> FoundRow | None:
        """Return the row of a fact's object; if it has none, the row to which the subject's row leads."""
        row = self.find(row_name(fact.object, fact.object_id))
        step = None if row is not None or subject is None else self.find(RELATION + fact.relation)
        return FoundRow(subject.vector + step.vector, "neighbours") if subject and step else row

    def _solve(self, fact: Fact) -> Tensor | None:
        """Return o - r of a fact; None if one of both has no row."""
        object, step = self.find(row_name(fact.object, fact.object_id)), self.find(RELATION + fact.relation)
        return None if object is None or step is None else object.vector - step.vector

    @staticmethod
    def _mean(vectors: Iterable[Tensor | None]) -> FoundRow | None:
        solutions = [vector for vector in vectors if vector is not None]
        return FoundRow(torch.stack(solutions).mean(0), "neighbours") if solutions else None


@dataclass(frozen=True)
class BatchRows:
    """The rows of one batch by the name under which a link has them; `Entities` of `collate`."""

    size: int
    vectors: Mapping[str, Float[Tensor, " size"]]
    _numbers: Mapping[str, int] = field(init=False, repr=False)
    _matrix: Float[Tensor, "row size"] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_numbers", {name: place for place, name in enumerate(self.vectors, 1)})
        rows = [torch.zeros(self.size), *self.vectors.values()]
        object.__setattr__(self, "_matrix", torch.stack(rows))

    def row_of(self, entity: str) -> int:
        """Return the row of a name; NO_ENTITY if it has none."""
        return self._numbers.get(entity, NO_ENTITY)

    def look_up(self, rows: Int[Tensor, "*place"]) -> Float[Tensor, "*place size"]:
        """Return the vector of each row."""
        return self._matrix[rows]


TOKENS_PER_PASS = {"cpu": 1_024, "cuda": 16_384}
Vectors: TypeAlias = Mapping[str, Float[Tensor, " size"]]
SCALES = ("neighbours", "answers")  # kinds of answers, each with its own scale


@dataclass(frozen=True)
class Settings:
    """The settings with which a checkpoint reads."""

    question_room: int  # tokens of a question
    subjects: int  # entities of a question that are tried as its subject
    margin: float  # logits by which a row that is solved for a fact leads the fact's rivals


@dataclass(frozen=True)
class Model:
    """A checkpoint. Thread-safe: nothing of it changes."""

    network: ErnieAnswers  # in evaluation mode
    vocabulary: Vocabulary
    table: EntityTable
    answers: Mapping[str, str]  # every answer of the facts that it was trained on -> the name of its row
    settings: Settings
    confidences: Mapping[str, Confidence]  # by the kind of answer
    digest: str = ""  # digest of its folder
    names: Mapping[str, str] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        names = {answer.casefold(): name for answer, name in self.answers.items()}
        object.__setattr__(self, "names", names)

    @property
    def device(self) -> torch.device:
        """Return where the network computes."""
        return next(self.network.parameters()).device

    @torch.inference_mode()
    def query(self, masks: Sequence[MaskedRow], vectors: Sequence[Vectors]) -> Float[Tensor, "row size"]:
        """Return the vector of each mask, with the rows of its links, in float32 on the CPU."""
        queries = torch.zeros(len(masks), self.network.config.entity_size)
        rows, rows_by_name = _tell_apart([mask.row for mask in masks], vectors)
        budget = TOKENS_PER_PASS[self.device.type]
        for places in by_length([len(row.tokens) for row in rows], budget):
            entities = BatchRows(self.network.config.entity_size, rows_by_name)
            batch = collate(
                [rows[place] for place in places], entities, self.vocabulary.spans.padding, self.device
            )
            columns = torch.tensor([masks[place].place for place in places], device=self.device)
            queries[places] = self.network.query(batch, columns).float().cpu()
        return queries

    def rows_of_answers(self, view: EntityView) -> Float[Tensor, "answer size"]:
        """Return the row of each known answer at a version."""
        if not view.edits:
            return self._base_rows
        rows = self._base_rows.clone()
        for place, name in enumerate(self.answers.values()):
            if (row := view.row_of(name)) in view.vectors:
                rows[place] = view.vectors[row]
        return rows

    @cached_property
    def _base_rows(self) -> Float[Tensor, "answer size"]:
        numbers = [self.table.names.row_of(name) for name in self.answers.values()]
        return self.table.look_up(torch.tensor(numbers, dtype=torch.long))


def _tell_apart(rows: Sequence[Row], vectors: Sequence[Vectors]) -> tuple[list[Row], dict[str, Tensor]]:
    """Name the entities of each text apart from those of the others, which may be of other versions."""
    rows_by_name = {f"{n} {name}": row for n, of_text in enumerate(vectors) for name, row in of_text.items()}
    apart = [
        replace(row, links={p: replace(link, entity=f"{n} {link.entity}") for p, link in row.links.items()})
        for n, row in enumerate(rows)
    ]
    return apart, rows_by_name
