"""The difference between the active edits of two versions, for questions that are asked at both."""

from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Bool
from torch import Tensor

from models.scope.active import ActiveEdits
from models.scope.candidates import Candidates
from models.scope.readings import Readings, StoredReadings


@dataclass(frozen=True)
class Change:
    """A change from one version to another of the same generation."""

    old: ActiveEdits
    new: ActiveEdits
    is_changed: Bool[Tensor, " row"]  # rows that one version alone reads, or that another edit answers

    @staticmethod
    def between(old: ActiveEdits, new: ActiveEdits) -> "Change":
        """Compare two versions."""
        return Change(old, new, new.changed_rows(old))

    @property
    def table(self) -> StoredReadings:
        """Return the rows of both versions."""
        return max(self.old.table, self.new.table, key=len)

    @cached_property
    def wordings(self) -> Readings:
        """Return the wordings at the rows that changed."""
        return self.table.select(self.is_changed.nonzero().squeeze(1).tolist())

    def is_against(self, row: int) -> bool:
        """Return whether the wording at a row is a counterexample at one of the versions."""
        return row in self.old.against or row in self.new.against

    def differing_pairs(self, before: Candidates, after: Candidates) -> Candidates:
        """Return the pairs that are candidates at one version alone, and those with a wording that changed.

        Args:
            before: Candidates of some questions at the old version.
            after: Candidates of the same questions at the new one.
        """
        cosines = [
            dict(
                zip(
                    zip(side.question.tolist(), side.wording.tolist(), strict=True),
                    side.cosine.tolist(),
                    strict=True,
                )
            )
            for side in (before, after)
        ]
        differing = sorted(
            pair
            for pair in cosines[0].keys() | cosines[1].keys()
            if self.is_changed[pair[1]] or not (pair in cosines[0] and pair in cosines[1])
        )
        question, wording = torch.tensor(differing, dtype=torch.long).reshape(-1, 2).T
        cosine = torch.tensor([(cosines[0] | cosines[1])[pair] for pair in differing])
        return Candidates(question, wording, cosine)
