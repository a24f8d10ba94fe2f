"""What a request comes down to, system by system: one wanted answer, or one triple, and the rows it will own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from models.graph.blocks import EntityStatements
from service.ledger.commit import EditRecord, Triple, new_edit_id
from service.measuring.wording import plain


@dataclass(frozen=True)
class Wanted:
    """place: of the item in the request. repeated: an earlier one says all of it. question: "" where unknown.

    reworded: the question in words that nobody gave, asked with the others so that the report knows them.
    triple, told: of an edit of the graph, and what its block says. idle: why nothing has to be written for it.
    """

    place: int
    model: str
    memory: str
    method: str
    question: str
    answer: str
    wordings_given: tuple[str, ...] = ()
    repeated: bool = False
    reworded: tuple[str, ...] = ()
    triple: Triple | None = None
    told: EntityStatements | None = None
    idle: str | None = None
    notes: dict[str, Any] = field(default_factory=dict)
    id: str = field(default_factory=new_edit_id)

    @cached_property
    def paraphrases(self) -> tuple[str, ...]:
        """Without repetitions."""
        known = {plain(self.question)}
        fresh = []
        for wording in self.wordings_given:
            if plain(wording) not in known:
                known.add(plain(wording))
                fresh.append(wording)
        return tuple(fresh)

    @property
    def wordings(self) -> tuple[str, ...]:
        return (self.question, *self.paraphrases) if self.question else ()


def comes_out(edit: Wanted | EditRecord, answer: str | None, objects: Sequence[str]) -> bool:
    """Whether an answer is as the edit wants it. Of a relation that holds many, only the edit's own value counts."""
    if edit.triple is None:
        return answer == edit.answer
    if edit.triple.act == "set":
        return tuple(objects) == (edit.triple.object,)
    return (edit.triple.object in objects) == (edit.triple.act == "add")
