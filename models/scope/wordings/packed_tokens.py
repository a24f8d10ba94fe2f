"""The tokens of wordings, packed one after the other."""

from collections.abc import Sequence
from typing import overload

import numpy as np
from jaxtyping import Int, UInt16

from models.scope.readings import Tokens

Ids = UInt16[np.ndarray, " token"]
Counts = Int[np.ndarray, " text"]


class PackedTokens(Sequence[Tokens]):
    """Tokens of texts, to which others may be appended. One writer at a time; readers need not wait for it."""

    def __init__(self) -> None:
        self._ids, self._ends = np.empty(0, np.uint16), np.zeros(1, np.int64)
        self._count = 0

    @staticmethod
    def of(texts: Sequence[Tokens]) -> "PackedTokens":
        """Pack the tokens of texts."""
        packed = PackedTokens()
        packed.append(
            np.frombuffer(b"".join(texts), np.uint16),
            np.fromiter((len(text) // 2 for text in texts), np.int64, len(texts)),
        )
        return packed

    @property
    def ids(self) -> Ids:
        """Return the tokens of all texts."""
        return self._ids[: self._ends[self._count]]

    @property
    def lengths(self) -> Counts:
        """Return the number of tokens of each text."""
        return np.diff(self._ends[: self._count + 1])

    def append(self, ids: Ids, lengths: Counts) -> None:
        """Append texts: their tokens, and how many each has."""
        count, n_used = self._count + len(lengths), int(self._ends[self._count])
        self._ids = _enlarge(self._ids, n_used, n_used + len(ids))
        self._ends = _enlarge(self._ends, self._count + 1, count + 1)
        self._ids[n_used : n_used + len(ids)] = ids
        self._ends[self._count + 1 : count + 1] = n_used + lengths.cumsum()
        self._count = count

    def select(self, rows: Int[np.ndarray, " text"]) -> "PackedTokens":
        """Return a copy of these texts."""
        starts, lengths = self._ends[rows], self._ends[rows + 1] - self._ends[rows]
        places = (starts - (lengths.cumsum() - lengths)).repeat(lengths) + np.arange(lengths.sum())
        texts = PackedTokens()
        texts.append(self._ids[places], lengths)
        return texts

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, row: int) -> Tokens: ...
    @overload
    def __getitem__(self, row: slice) -> list[Tokens]: ...
    def __getitem__(self, row: int | slice) -> Tokens | list[Tokens]:
        if isinstance(row, slice):
            return [self[place] for place in range(*row.indices(len(self)))]
        if not 0 <= row < self._count:
            raise IndexError(row)
        return self._ids[self._ends[row] : self._ends[row + 1]].tobytes()


def _enlarge(array: np.ndarray, n_used: int, n_needed: int) -> np.ndarray:
    """Return the array, or one of twice the needed size with the used part; the rest takes no memory yet."""
    if n_needed <= len(array):
        return array
    larger = np.empty(2 * n_needed, array.dtype)
    larger[:n_used] = array[:n_used]
    return larger
