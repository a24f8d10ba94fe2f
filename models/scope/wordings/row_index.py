"""Rows found by a 64-bit hash: twelve bytes a pair, whereas a mapping of Python takes two hundred."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Int

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
