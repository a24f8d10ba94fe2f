"""Gates' readings in rows that only grow: whoever holds an earlier table finds its rows where they were.

Readings that are alike, bit for bit, share a row.
"""

import hashlib
from collections.abc import Iterator

import numpy as np
import torch

from models.nkb.alike import Keyed

FEWEST = 64  # rows that there is room for


class Rows:
    """Append-only. One writer at a time; readers of `table` need not wait for it."""

    def __init__(self) -> None:
        self._room, self._places = Keyed.room(0), dict[bytes, int]()

    def __len__(self) -> int:
        return len(self._places)

    @property
    def table(self) -> Keyed:
        return self._room.select(slice(len(self)))

    def place(self, readings: Keyed) -> list[int]:
        """Where each of them stands; those that are not there yet are appended."""
        used = len(self)
        places = [self._places.setdefault(content, len(self)) for content in _contents(readings)]
        fresh = {place: row for row, place in reversed(list(enumerate(places))) if place >= used}
        self._append(used, readings.select(torch.tensor(sorted(fresh.values()), dtype=torch.long)))
        return places

    def _append(self, used: int, readings: Keyed) -> None:
        if used + len(readings) > len(self._room):
            room = Keyed.room(max(FEWEST, 2 * (used + len(readings))))
            room.write(0, self._room.select(slice(used)))
            self._room = room
        self._room.write(used, readings)


def _contents(readings: Keyed) -> Iterator[bytes]:
    """A subject follows from its key."""
    parts = (readings.keys, readings.numbers[:, None], readings.words)
    for row in np.concatenate([part.contiguous().numpy().view(np.uint8) for part in parts], 1):
        yield hashlib.sha256(row).digest()
