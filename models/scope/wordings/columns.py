"""The wordings of edits as columns that grow: a version that adds edits shares those of the one before it.

Rows are found by a 64-bit hash: twelve bytes a pair, whereas a mapping of Python takes two hundred.

There is one writer at a time; readers need not wait for it.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor

Hashes = Int[np.ndarray, " hash"]
Rows = Int[np.ndarray, " hash"]

MAX_RECENT = 4_096  # pairs that are not sorted yet


class Pairs(NamedTuple):
    """The pairs of an index: the sorted ones, and those that were added since."""

    hashes: Hashes  # ascending
    rows: Rows
    recent: dict[int, list[int]]


class RowIndex:
    """The rows that have a hash. Pairs are only added; a reader takes `_pairs` once, a merge replaces all of it."""

    def __init__(self) -> None:
        self._pairs = Pairs(np.empty(0, np.int64), np.empty(0, np.int32), {})
        self._n_recent = 0

    def add(self, hashes: Hashes, rows: Rows) -> None:
        """Add pairs. A concurrent reader misses none of those before."""
        before = self._pairs
        if self._n_recent + len(hashes) <= MAX_RECENT:
            for key, row in zip(hashes.tolist(), rows.tolist(), strict=True):
                before.recent[key] = [*before.recent.get(key, ()), row]  # a reader sees no empty list
            self._n_recent += len(hashes)
            return
        recent = [(key, row) for key, rows_of_key in before.recent.items() for row in rows_of_key]
        recent_hashes, recent_rows = np.array(recent, np.int64).reshape(-1, 2).T
        hashes = np.concatenate([before.hashes, recent_hashes, hashes])
        order = hashes.argsort(kind="stable")
        rows = np.concatenate([before.rows, recent_rows.astype(np.int32), rows.astype(np.int32)])
        self._pairs, self._n_recent = Pairs(hashes[order], rows[order], {}), 0

    def rows_of(self, key: int) -> list[int]:
        """Return the rows that have a hash."""
        hashes, rows, recent = self._pairs
        start, end = (int(hashes.searchsorted(key, side)) for side in ("left", "right"))
        return [*rows[start:end].tolist(), *recent.get(key, ())]

    def contains(self, hashes: Hashes) -> Bool[np.ndarray, " hash"]:
        """Return whether any row has each hash."""
        return self.first_rows(hashes) >= 0

    def first_rows(self, hashes: Hashes) -> Rows:
        """Return the first row that has each hash, -1 if none has it."""
        sorted_hashes, rows, recent = self._pairs
        result = np.full(len(hashes), -1, np.int64)
        if len(sorted_hashes):
            places = sorted_hashes.searchsorted(hashes).clip(max=len(sorted_hashes) - 1)
            result = np.where(sorted_hashes[places] == hashes, rows[places], -1)
        if recent:
            missing = np.flatnonzero(result < 0)
            rows_of_recent = [recent[key][0] if key in recent else -1 for key in hashes[missing].tolist()]
            result[missing] = rows_of_recent
        return result


MIN_CAPACITY = 64


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


class Column:
    """A tensor that grows; its rows keep their places. Capacity without rows takes no memory."""

    def __init__(self, dtype: torch.dtype) -> None:
        self._storage, self._count = torch.empty(MIN_CAPACITY, dtype=dtype), 0

    @property
    def values(self) -> Tensor:
        """The rows, as a view."""
        return self._storage[: self._count]

    def append(self, further: Tensor) -> None:
        """Append rows."""
        count = self._count + len(further)
        if count > len(self._storage):
            storage = torch.empty(2 * count, dtype=self._storage.dtype)
            storage[: self._count] = self.values
            self._storage = storage
        self._storage[self._count : count] = further
        self._count = count

    def copy(self, count: int | None = None) -> "Column":
        """Return a column with the first rows, by default all, which shares nothing with this one."""
        column = Column(self._storage.dtype)
        column.append(self.values[:count])
        return column


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
