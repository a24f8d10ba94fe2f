"""Rows of a graph's entities, values and relations.

TransE (Bordes et al., 2013) puts s + r near o. So an entity without a row has one in closed form: the mean of o - r
over its facts, the least-squares solution of them all. An object without a row is s + r, where its subject's fact says
it is. A row is named by the entity, a literal value by its text, a relation by the id under which a graph describes it.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import torch
from jaxtyping import Float
from torch import Tensor

from models.graph.knowledge import Entity, Fact
from models.graph.statement import RELATION
from models.thu_ernie.entities.table import NO_ENTITY, EntityView, row_name

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
            solutions = [vector for vector in map(self._solve, entity.facts) if vector is not None]
            return FoundRow(torch.stack(solutions).mean(0), "neighbours") if solutions else None
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
