"""Rows by a 64-bit hash: twelve bytes a pair, whereas a mapping of Python takes two hundred.

There is one writer at a time; readers need not wait for it.
"""

from collections import defaultdict

import numpy as np
from jaxtyping import Bool, Int

Hashes = Int[np.ndarray, " hash"]
Rows = Int[np.ndarray, " hash"]

MAX_RECENT = 4_096  # pairs that are not sorted yet


class RowIndex:
    """The rows that have a hash. Pairs are only added."""

    def __init__(self) -> None:
        self._sorted = np.empty(0, np.int64), np.empty(0, np.int32)  # hashes, ascending, and rows
        self._recent: dict[int, list[int]] = defaultdict(list)
        self._n_recent = 0

    def add(self, hashes: Hashes, rows: Rows) -> None:
        """Add pairs. A concurrent reader may find a row twice, and misses none."""
        if self._n_recent + len(hashes) <= MAX_RECENT:
            for key, row in zip(hashes.tolist(), rows.tolist(), strict=True):
                self._recent[key].append(row)
            self._n_recent += len(hashes)
            return
        recent = [(key, row) for key, rows_of_key in self._recent.items() for row in rows_of_key]
        recent_hashes, recent_rows = np.array(recent, np.int64).reshape(-1, 2).T
        hashes = np.concatenate([self._sorted[0], recent_hashes, hashes])
        order = hashes.argsort(kind="stable")
        rows = np.concatenate([self._sorted[1], recent_rows.astype(np.int32), rows.astype(np.int32)])
        self._sorted = hashes[order], rows[order]
        self._recent, self._n_recent = defaultdict(list), 0

    def rows_of(self, key: int) -> list[int]:
        """Return the rows that have a hash."""
        hashes, rows = self._sorted
        start, end = (int(hashes.searchsorted(key, side)) for side in ("left", "right"))
        return [*rows[start:end].tolist(), *self._recent.get(key, ())]

    def contains(self, hashes: Hashes) -> Bool[np.ndarray, " hash"]:
        """Return whether any row has each hash."""
        return self.first_rows(hashes) >= 0

    def first_rows(self, hashes: Hashes) -> Rows:
        """Return the first row that has each hash, -1 if none has it."""
        recent, (sorted_hashes, rows) = self._recent, self._sorted
        result = np.full(len(hashes), -1, np.int64)
        if len(sorted_hashes):
            places = sorted_hashes.searchsorted(hashes).clip(max=len(sorted_hashes) - 1)
            result = np.where(sorted_hashes[places] == hashes, rows[places], -1)
        if recent:
            missing = np.flatnonzero(result < 0)
            rows_of_recent = [recent[key][0] if key in recent else -1 for key in hashes[missing].tolist()]
            result[missing] = rows_of_recent
        return result
