"""The wordings of edits as columns that grow: a version that adds edits shares those of the one before it.

There is one writer at a time; readers need not wait for it.
"""

from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from models.scope.wordings.column import Column


@dataclass(frozen=True, eq=False)
class Wordings:
    """The wordings of all edits in ledger order, each edit's question before its paraphrases.

    edits: the place of the edit that each belongs to. rows: its row in the table. is_against: whether it is a
    counterexample, which its edit is not about.
    """

    edits: Int[Tensor, " wording"]
    rows: Int[Tensor, " wording"]
    is_against: Bool[Tensor, " wording"]

    def select(self, wordings: Tensor) -> "Wordings":
        """Return some of the wordings."""
        return Wordings(self.edits[wordings], self.rows[wordings], self.is_against[wordings])

    def of_edit(self, edit: int) -> slice:
        """Return where the wordings of one edit stand."""
        ends = torch.searchsorted(self.edits, torch.tensor([edit, edit + 1]))
        return slice(*ends.tolist())

    @cached_property
    def is_question(self) -> Bool[Tensor, " wording"]:
        """Whether each is the question that its edit was made with."""
        is_first = torch.ones(len(self.edits), dtype=torch.bool)
        is_first[1:] = self.edits[1:] != self.edits[:-1]
        return is_first


class WordingColumns:
    """The columns of `Wordings` while edits are added."""

    def __init__(self) -> None:
        self._edits, self._rows, self._is_against = (
            Column(torch.int64),
            Column(torch.int64),
            Column(torch.bool),
        )

    @property
    def wordings(self) -> Wordings:
        """The wordings so far, as views."""
        return Wordings(self._edits.values, self._rows.values, self._is_against.values)

    def count_until(self, edit: int) -> int:
        """Return the number of wordings of the edits before this place."""
        return int(torch.searchsorted(self._edits.values, edit))

    def truncate(self, edits: int) -> "WordingColumns":
        """Return a copy with the wordings of the first edits."""
        columns, end = WordingColumns(), self.count_until(edits)
        columns._edits, columns._rows = self._edits.copy(end), self._rows.copy(end)
        columns._is_against = self._is_against.copy(end)
        return columns

    def append(
        self,
        first: int,
        counts: Int[Tensor, " edit"],
        rows: Int[Tensor, " wording"],
        n_against: Int[Tensor, " edit"],
    ) -> None:
        """Add the wordings of further edits.

        Args:
            first: Place of the first of the edits.
            counts: Number of rows of each edit.
            rows: Rows of their wordings, edit by edit.
            n_against: Number of the last rows of each edit that are counterexamples.
        """
        edits = torch.arange(first, first + len(counts)).repeat_interleave(counts)
        ends = counts.cumsum(0).repeat_interleave(counts)
        self._edits.append(edits)
        self._rows.append(rows)
        self._is_against.append(torch.arange(len(rows)) >= ends - n_against.repeat_interleave(counts))
