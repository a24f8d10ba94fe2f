"""Which rows of the table of gates the active edits have."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Int
from torch import Tensor

NOBODY = -1


@dataclass(frozen=True, eq=False)
class Wordings:
    """The wordings of all edits in ledger order, each edit's question before its paraphrases.

    edits: the place of the edit that each belongs to. rows: its row in the table.
    """

    edits: Int[Tensor, " wording"]
    rows: Int[Tensor, " wording"]

    @staticmethod
    def none() -> "Wordings":
        return Wordings(torch.empty(0, dtype=torch.long), torch.empty(0, dtype=torch.long))

    def of_first(self, edits: int) -> "Wordings":
        end = int(torch.searchsorted(self.edits, edits))
        return Wordings(self.edits[:end], self.rows[:end])

    def of(self, edit: int) -> Int[Tensor, " its"]:
        return self.rows[self.edits == edit]

    def followed_by(self, places: Sequence[tuple[int, ...]], first: int) -> "Wordings":
        """places: the rows of further edits, of which the first is at this place."""
        edits = [first + edit for edit, rows in enumerate(places) for _ in rows]
        rows = [row for rows in places for row in rows]
        return Wordings(
            torch.cat([self.edits, torch.tensor(edits, dtype=torch.long)]),
            torch.cat([self.rows, torch.tensor(rows, dtype=torch.long)]),
        )

    @cached_property
    def questions(self) -> Int[Tensor, " edit"]:
        """The row of each edit's question."""
        first = torch.ones(len(self.edits), dtype=torch.bool)
        first[1:] = self.edits[1:] != self.edits[:-1]
        return self.rows[first]

    def owner(self, count: int) -> Int[Tensor, " row"]:
        """The latest edit that has each of `count` rows, or NOBODY."""
        return torch.full((count,), NOBODY).scatter_reduce_(0, self.rows, self.edits, "amax")
