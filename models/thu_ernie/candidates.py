"""The candidates for the mask.

Candidates are the neighbours of an entity, all known answers, or those of a request. Values of one relation of one
entity are one candidate, for no row could say which of them is meant.

Equation 5 of Zhang et al. (arXiv:1905.07129) is a softmax over dot products with the rows of candidates, among them the
zero row, which stands for no entity and has the logit 0. Here it stands for a question that no candidate answers.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from more_itertools import map_reduce
from torch import Tensor

from models.graph.knowledge import Entity, Fact
from models.kit.replies import clip
from models.thu_ernie.entities.table import TEXT
from models.thu_ernie.finder import FoundRow, RowFinder

FEATURE_LIMIT = 20.0  # bound of a feature, in logits
NO_ANSWER = 0.0  # logit of the zero row


@dataclass(frozen=True)
class Candidate:
    """One possible answer."""

    answer: str
    rows: tuple[FoundRow, ...]  # rows of its objects
    entity: Entity | None = None  # whose facts it is; None where the graph does not say it
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
class Choice:
    """The candidates that one mask may be aligned with."""

    candidates: tuple[Candidate, ...]
    exclusions: tuple[str, ...] = ()  # possible answers that cannot be scored, for they have no row


def list_neighbours(entity: Entity, subject: FoundRow | None, finder: RowFinder) -> Choice:
    """Return the values of each relation of an entity."""
    by_relation = map_reduce(entity.facts, lambda fact: fact.relation)
    candidates, exclusions = [], []
    for facts in by_relation.values():
        rows = [row for fact in facts if (row := finder.of_object(subject, fact)) is not None]
        answer = ", ".join(sorted({fact.object for fact in facts}))
        if rows:
            candidates.append(Candidate(answer, tuple(rows), entity, tuple(facts)))
        else:
            exclusions.append(answer)
    return Choice(tuple(candidates), tuple(exclusions))


def list_texts(
    texts: Iterable[str], choices: Sequence[Choice], names: Mapping[str, str], finder: RowFinder
) -> Choice:
    """Return the candidates of a request: each is a neighbour of this name, a known answer (`names`), or its text."""
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
            exclusions.append(text)
        else:
            candidates.append(Candidate(text, (row,)))
    return Choice(tuple(candidates), tuple(exclusions))


@dataclass(frozen=True)
class AlignedCandidate:
    """A candidate with its logit."""

    candidate: Candidate
    logit: float  # logarithm of the summed exponentials of its objects' dot products
    subject: int  # number of the subject whose mask it was aligned with


@dataclass(frozen=True)
class Alignment:
    """All candidates of a question, the best first; of equal ones the earlier."""

    entries: tuple[AlignedCandidate, ...]

    @property
    def features(self) -> tuple[float, float]:
        """Return the features of the best answer's confidence: its lead over no answer, and over the second."""
        best = self.entries[0].logit
        second = self.entries[1].logit if len(self.entries) > 1 else best - FEATURE_LIMIT
        return clip(best - NO_ANSWER, FEATURE_LIMIT), clip(best - second, FEATURE_LIMIT)

    def shares(self) -> tuple[list[float], float]:
        """Return the probability of each candidate, and of no answer."""
        logits = torch.tensor([*(entry.logit for entry in self.entries), NO_ANSWER], dtype=torch.float64)
        *shares, no_answer = logits.softmax(0).tolist()
        return shares, no_answer


def align(
    query: Float[Tensor, " size"], candidates: Sequence[Candidate], subject: int
) -> list[AlignedCandidate]:
    """Compare the state at a mask with the rows of candidates."""
    if not candidates:
        return []
    products = (torch.cat([candidate.vectors for candidate in candidates]) @ query).double()
    logits = [
        float(part.logsumexp(0))
        for part in torch.split(products, [len(candidate.rows) for candidate in candidates])
    ]
    pairs = zip(candidates, logits, strict=True)
    return [AlignedCandidate(candidate, logit, subject) for candidate, logit in pairs if math.isfinite(logit)]
