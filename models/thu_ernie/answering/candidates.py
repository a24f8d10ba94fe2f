"""Candidates for the place of the mask: the neighbours of an entity, all known answers, or a request's candidates.

Values of one relation of one entity are one candidate, for no row could say which of them is meant; its logit is the
logarithm of the summed exponentials of theirs.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from models.graph.knowledge import Entity, Fact
from models.thu_ernie.answering.rows import FoundRow, RowFinder
from models.thu_ernie.entities.names import TEXT

NO_ROW = "neither the table nor the graph gives a row of it"


@dataclass(frozen=True)
class Candidate:
    """One possible answer.

    Attributes:
        answer: Its text.
        rows: The rows of its objects.
        entity: Whose facts it is; None where the graph does not say it.
        facts: These facts.
    """

    answer: str
    rows: tuple[FoundRow, ...]
    entity: Entity | None = None
    facts: tuple[Fact, ...] = ()

    @property
    def vectors(self) -> Float[Tensor, "object size"]:
        """Return the rows of its objects as a matrix."""
        return torch.stack([row.vector for row in self.rows])

    @property
    def edits(self) -> tuple[str, ...]:
        """Return the edits that wrote its facts or its rows."""
        edits = [*(fact.edit for fact in self.facts), *(row.edit for row in self.rows)]
        return tuple(dict.fromkeys(edit for edit in edits if edit))


@dataclass(frozen=True)
class NoRow:
    """A possible answer that cannot be scored."""

    answer: str
    reason: str = NO_ROW


@dataclass(frozen=True)
class Choice:
    """The candidates that one mask may be aligned with."""

    candidates: tuple[Candidate, ...]
    exclusions: tuple[NoRow, ...] = ()


def list_neighbours(entity: Entity, subject: FoundRow | None, finder: RowFinder) -> Choice:
    """Return the values of each relation of an entity."""
    by_relation: dict[str, list[Fact]] = {}
    for fact in entity.facts:
        by_relation.setdefault(fact.relation, []).append(fact)
    candidates, exclusions = [], []
    for facts in by_relation.values():
        rows = [row for fact in facts if (row := finder.of_object(subject, fact)) is not None]
        answer = ", ".join(sorted({fact.object for fact in facts}))
        if rows:
            candidates.append(Candidate(answer, tuple(rows), entity, tuple(facts)))
        else:
            exclusions.append(NoRow(answer))
    return Choice(tuple(candidates), tuple(exclusions))


def list_texts(
    texts: Iterable[str], choices: Sequence[Choice], names: Mapping[str, str], finder: RowFinder
) -> Choice:
    """Return the candidates of a request: each is a neighbour of this name, or a known answer, or its text.

    Args:
        texts: Answers to choose from.
        choices: Neighbours of the mentioned entities.
        names: Known answers in lower case -> their row.
        finder: Rows at the asked version.
    """
    rows = {
        fact.object.casefold(): row
        for choice in choices
        for candidate in choice.candidates
        if len(candidate.facts) == len(candidate.rows)
        for fact, row in zip(candidate.facts, candidate.rows, strict=True)
    }
    candidates, exclusions = [], []
    for text in texts:
        key = text.casefold()
        row = rows.get(key) or finder.find(names.get(key, TEXT + text))
        if row is None:
            exclusions.append(NoRow(text))
        else:
            candidates.append(Candidate(text, (row,)))
    return Choice(tuple(candidates), tuple(exclusions))
