"""The gated slots that a process has seen, in one table that only grows.

A view taken earlier finds its rows where they were: a reader never waits for an edit and an edit never disturbs a
reader. Wordings that read alike, bit for bit, share a row, so a question that is edited a hundred times costs one. When
most rows are nobody's any more, of dry runs and edits taken back, a new table is begun; the old one goes with its last
view.
"""

import hashlib
import threading
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, takewhile
from weakref import WeakSet

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from models.memory import Block
from models.scope.gates import NO_EDIT, Gates, Wordings
from models.scope.keys import QuestionKeys, nearest_subject
from models.scope.literals import MAX_WORDS
from models.scope.network import Scope
from models.scope.pairs import PairCache

MIN_CAPACITY = 64  # rows
SPARE = 16_384  # rows that may be nobody's, 3 kB each


class Rows:
    """Append-only. One writer at a time; readers of `table` need not wait for it."""

    def __init__(self, device: torch.device) -> None:
        self._storage, self._places = QuestionKeys.allocate(0, device), dict[bytes, int]()
        self._device = device

    def __len__(self) -> int:
        return len(self._places)

    @property
    def table(self) -> QuestionKeys:
        return self._storage.select(slice(len(self)))

    def place(self, digests: Iterator[bytes], keys: QuestionKeys) -> list[int]:
        """Where each of the keys stands; those that are not there yet are appended."""
        n_used = len(self)
        places = [self._places.setdefault(digest, len(self)) for digest in digests]
        fresh = {place: row for row, place in reversed(list(enumerate(places))) if place >= n_used}
        rows = torch.tensor(sorted(fresh.values()), dtype=torch.long, device=self._device)
        if n_used + len(rows) > len(self._storage):
            storage = QuestionKeys.allocate(max(MIN_CAPACITY, 2 * (n_used + len(rows))), self._device)
            storage.write(0, self._storage.select(slice(n_used)))
            self._storage = storage
        self._storage.write(n_used, keys.select(rows))
        return places


class SlotTable:
    """Makes the `Gates` of each version. Safe to grow while others read.

    Args:
        subjects: unit readings of the subjects of training; keys lie on their device.
    """

    def __init__(self, scope: Scope, subjects: Float[Tensor, "subject aspect"]) -> None:
        self._scope, self._subjects = scope, subjects
        self._generation = 0
        self._lock = threading.Lock()
        self._views: WeakSet[Gates] = WeakSet()
        self._begin()

    def _begin(self) -> None:
        self._generation += 1
        self._rows = Rows(self._subjects.device)
        self._places: dict[str, tuple[int, ...]] = {}
        self._pair_cache = PairCache(self._scope)
        self._blocks: tuple[Block, ...] = ()
        self._wordings = Wordings.empty()

    def gates(self, blocks: Sequence[Block]) -> Gates:
        """The view of these blocks, in ledger order. Blocks seen before are found by their digest."""
        with self._lock:
            if len(self._rows) > SPARE and self._is_mostly_unowned(blocks):
                self._begin()
            pairs = zip(self._blocks, blocks, strict=False)  # most versions begin as the last one did
            same = sum(1 for _ in takewhile(lambda pair: pair[0] is pair[1], pairs))
            fresh = [block for block in blocks[same:] if block.digest not in self._places]
            if fresh:
                places = iter(self._place([block.tensors for block in fresh]))
                self._places |= {block.digest: tuple(islice(places, block.rows["keys"])) for block in fresh}
            rows = [self._places[block.digest] for block in blocks[same:]]
            self._blocks, self._wordings = tuple(blocks), self._wordings.truncate(same).append(rows, same)
            table, wordings = self._rows.table, self._wordings
            owner = wordings.owners(len(table))
            view = Gates(self._generation, table, self._pair_cache, owner, wordings, self._blocks)
            self._views.add(view)
        return view

    def _is_mostly_unowned(self, blocks: Sequence[Block]) -> bool:
        """Beside these blocks and the views that are still used."""
        is_owned = torch.zeros(len(self._rows), dtype=torch.bool)
        for view in self._views:
            if view.generation == self._generation:
                is_owned[: len(view.owner)] |= view.owner != NO_EDIT
        n_used = int(is_owned.sum()) + sum(block.rows["keys"] for block in blocks)
        return len(self._rows) > SPARE + 2 * n_used

    def _place(self, tensors: Sequence[Mapping[str, Tensor]]) -> list[int]:
        """Rows of new blocks. A subject follows from its key; edits of before names were compared have no words."""
        keys = torch.cat([block["keys"] for block in tensors])
        numbers = torch.cat([block["numbers"] for block in tensors])
        words = torch.cat(
            [
                block.get("words", torch.zeros(len(block["keys"]), MAX_WORDS, dtype=torch.int32))
                for block in tensors
            ]
        )
        columns = (part.contiguous().numpy().view(np.uint8) for part in (keys, numbers[:, None], words))
        digests = (hashlib.sha256(row).digest() for row in np.concatenate(list(columns), 1))
        device = self._subjects.device
        on_device = keys.to(device)
        _, subjects = nearest_subject(on_device, self._subjects)
        return self._rows.place(
            digests, QuestionKeys(on_device, numbers.to(device), subjects, words.to(device))
        )
