"""The wordings of edits that a process has seen, in one table that only grows.

A view taken earlier finds its rows where they were: a reader never waits for an edit and an edit never disturbs a
reader. Equal wordings share a row, so a question that is edited a hundred times costs one. A version that adds edits
shares all that the one before it has. When most rows belong to dry runs and to edits that were taken back, a new
table is begun; the old one goes with its last view. `block.py` describes the part of an edit's block for this table.
"""

import threading
from collections.abc import Sequence
from dataclasses import replace
from itertools import count, takewhile
from weakref import WeakSet

import numpy as np
import torch
from more_itertools import chunked
from torch import Tensor

from models.blocks import Block, block_key
from models.scope.active import ActiveEdits
from models.scope.judge import Judge
from models.scope.literals import digest_bytes
from models.scope.readings import StoredReadings, dequantize, scales_of
from models.scope.sketch import Sketch
from models.scope.spelling import Lexicon
from models.scope.wordings.block import BlockWordings, read_blocks, read_texts
from models.scope.wordings.column import Column
from models.scope.wordings.columns import WordingColumns
from models.scope.wordings.packed_tokens import PackedTokens
from models.scope.wordings.row_index import RowIndex
from models.versioned_blocks import Prefix

MIN_CAPACITY = 64  # rows
SPARE = 16_384  # rows that may belong to no edit, 1 kB each
BLOCKS_AT_ONCE = 8_192
SKETCHED_AT_ONCE = 8_192  # rows whose vectors are in memory together while their bounds are written
SKETCHED_FROM = 8_192  # rows from which bounds of cosines are worth their product


class Rows:
    """Append-only. One writer at a time; readers of `table` need not wait for it."""

    def __init__(self, judge: Judge, device: torch.device) -> None:
        self._device = device
        self._storage = StoredReadings.allocate(0, device)
        self._sketch: Sketch | None = None
        self._tokens = PackedTokens()
        self._index = RowIndex()  # by digest of the text
        self.lexicon = Lexicon(judge.tokenizer, judge.slips)
        self.by_wording = RowIndex()

    def __len__(self) -> int:
        return len(self._tokens)

    @property
    def table(self) -> StoredReadings:
        """Return the rows written so far."""
        return replace(self._storage, sketch=self._sketch).truncate(len(self))

    def place(self, wordings: BlockWordings) -> Tensor:
        """Return the row of each wording, and append those that have none yet."""
        n_used = len(self)
        digests = np.array([digest_bytes(text) for text in wordings.texts], np.int64)
        places = self._index.first_rows(digests)
        fresh = np.flatnonzero(places < 0)
        _, first, number = np.unique(digests[fresh], return_index=True, return_inverse=True)
        by_appearance = first.argsort(kind="stable")
        rank = np.empty(len(first), np.int64)
        rank[by_appearance] = np.arange(len(first))
        places[fresh] = n_used + rank[number]
        rows = fresh[first[by_appearance]]
        self._append(wordings, rows, digests[rows])
        return torch.from_numpy(places)

    def _append(self, wordings: BlockWordings, rows: np.ndarray, digests: np.ndarray) -> None:
        n_used, n_rows = len(self), len(self) + len(rows)
        if n_rows > len(self._storage):  # rows that are not written yet take no memory on the CPU
            storage = StoredReadings.allocate(max(MIN_CAPACITY, 2 * n_rows), self._device)
            for column, old in zip(storage.columns, self._storage.columns, strict=True):
                column[:n_used] = old[:n_used]
            self._storage = replace(storage, tokens=self._tokens)
        codes = torch.from_numpy(wordings.codes[rows])
        hashes = torch.from_numpy(wordings.digests[:, rows])
        columns = codes, scales_of(codes), *hashes, torch.from_numpy(wordings.subjects[rows])
        for column, values in zip(self._storage.columns, columns, strict=True):
            column[n_used:n_rows] = values.to(self._device)
        self._write_bounds(n_used, n_rows)
        places = np.arange(n_used, n_rows)
        fresh_tokens = wordings.tokens.select(rows)
        self.lexicon.add(fresh_tokens, n_used)
        self._index.add(digests, places)
        self.by_wording.add(wordings.digests[0, rows], places)
        self._tokens.append(fresh_tokens.ids, fresh_tokens.lengths)

    def _write_bounds(self, n_used: int, n_rows: int) -> None:
        """Write the bounds of the rows from `n_used` on; of all rows once they are many enough."""
        if self._device.type != "cpu" or n_rows < SKETCHED_FROM:
            return
        if self._sketch is None:
            first_vectors = dequantize(self._storage.codes[: min(n_rows, SKETCHED_FROM)])
            self._sketch, n_used = Sketch.allocate(first_vectors, len(self._storage)), 0
        elif len(self._sketch.codes) < n_rows:
            self._sketch = self._sketch.enlarge(n_used, len(self._storage))
        for start in range(n_used, n_rows, SKETCHED_AT_ONCE):
            end = min(start + SKETCHED_AT_ONCE, n_rows)
            self._sketch.write(start, dequantize(self._storage.codes[start:end]))


class BlockRows:
    """The rows of every block that the table has seen, by the block's digest."""

    def __init__(self) -> None:
        self._numbers: dict[bytes, int] = {}
        self._ends, self._rows = Column(torch.int64), Column(torch.int64)
        self._ends.append(torch.zeros(1))
        self.n_against: dict[bytes, int] = {}
        self.replaces: dict[bytes, tuple[str, ...]] = {}

    def __contains__(self, block: Block) -> bool:
        return block.sha256 in self._numbers

    def add(self, blocks: Sequence[Block], wordings: BlockWordings, rows: Tensor) -> None:
        """Remember new blocks with the rows of their wordings."""
        ends = self._ends.values
        self._numbers.update(zip((block.sha256 for block in blocks), count(len(ends) - 1), strict=False))
        self._ends.append(ends[-1] + torch.from_numpy(wordings.counts).cumsum(0))
        self._rows.append(rows)
        for block in (blocks[place] for place in wordings.with_counterexamples):
            self.n_against[block.sha256] = int(block.tensors["n_against"])
        for block in (blocks[place] for place in wordings.replacing):
            self.replaces[block.sha256] = tuple(read_texts(block.tensors["replaces"]))

    def rows_of(self, blocks: Sequence[Block]) -> tuple[Tensor, Tensor]:
        """Return how many rows each block has, and the rows."""
        numbers = torch.tensor([self._numbers[block.sha256] for block in blocks])
        starts, counts = self._ends.values[numbers], self._ends.values[numbers + 1]
        counts -= starts
        firsts = (starts - (counts.cumsum(0) - counts)).repeat_interleave(counts)
        return counts, self._rows.values[firsts + torch.arange(len(firsts))]


class WordingTable:
    """Makes the `ActiveEdits` of each version. Safe to grow while others read."""

    def __init__(self, judge: Judge, device: torch.device | str = "cpu") -> None:
        self._judge, self._device = judge, torch.device(device)
        self._generation = 0
        self._lock = threading.Lock()
        self._views: WeakSet[ActiveEdits] = WeakSet()
        self._begin()

    def _begin(self) -> None:
        self._generation += 1
        self._rows, self._block_rows = Rows(self._judge, self._device), BlockRows()
        self._edits: Prefix[Block] = Prefix([])
        self._places: dict[str, int] = {}  # place of each edit, by its key
        self._replacing: list[int] = []  # places of edits that replace others
        self._wordings, self._successors = WordingColumns(), Column(torch.int64)

    def view(self, blocks: Sequence[Block]) -> ActiveEdits:
        """Return the view of blocks in ledger order; those seen before are found by their digest."""
        with self._lock:
            same = self._count_same(blocks)
            if len(self._rows) > SPARE and self._is_mostly_unowned(blocks, same):
                self._begin()
                same = 0
            self._keep_first(same)
            self._append(blocks[same:], same)
            self._edits = blocks if isinstance(blocks, Prefix) else Prefix(list(blocks))
            view = ActiveEdits(
                self._generation,
                self._rows.table,
                self._wordings.wordings,
                self._successors.values,
                bool(self._replacing),
                self._edits,
                self._rows.lexicon,
                self._rows.by_wording,
            )
            self._views.add(view)
        return view

    def _count_same(self, blocks: Sequence[Block]) -> int:
        """Return with how many edits of the last version these begin: most versions begin as the last one did."""
        if isinstance(blocks, Prefix) and blocks.shares_list(self._edits):
            return min(len(blocks), len(self._edits))
        pairs = zip(self._edits, blocks, strict=False)
        return sum(1 for _ in takewhile(lambda pair: pair[0] is pair[1], pairs))

    def _keep_first(self, count: int) -> None:
        """Forget the edits of the last version from place `count` on."""
        if count == len(self._edits):
            return
        for block in self._edits[count:]:
            self._places.pop(block.key, None)
        self._wordings = self._wordings.truncate(count)
        self._successors = Column(torch.int64)
        self._successors.append(torch.arange(count))
        replacing, self._replacing = self._replacing, []
        for place in replacing:
            if place < count:
                self._replace(self._edits[place], place)

    def _append(self, blocks: Sequence[Block], first: int) -> None:
        """Add edits behind the others, the first of them at place `first`."""
        if not blocks:
            return
        self._learn([block for block in blocks if block not in self._block_rows])
        counts, rows = self._block_rows.rows_of(blocks)
        against = self._block_rows.n_against
        n_against = torch.tensor([against.get(block.sha256, 0) for block in blocks] if against else [0])
        self._wordings.append(first, counts, rows, n_against.expand(len(blocks)))
        self._successors.append(torch.arange(first, first + len(blocks)))
        self._places.update(zip((block.key for block in blocks), count(first), strict=False))
        replaces = self._block_rows.replaces
        replacing = [place for place, block in enumerate(blocks, first) if block.sha256 in replaces]
        if replacing:
            self._successors = self._successors.copy()  # earlier views go on with theirs
            for place in replacing:
                self._replace(blocks[place - first], place)

    def _replace(self, block: Block, place: int) -> None:
        """Note which edits this one replaces."""
        earlier_places = (
            self._places.get(block_key(edit)) for edit in self._block_rows.replaces.get(block.sha256, ())
        )
        earlier = [other for other in earlier_places if other is not None and other < place]
        if earlier:
            self._successors.values[earlier] = place
            self._replacing.append(place)

    def _learn(self, blocks: Sequence[Block]) -> None:
        """Remember the rows of new blocks, and which edits they replace."""
        for part in chunked(blocks, BLOCKS_AT_ONCE):
            wordings = read_blocks(part, self._judge)
            self._block_rows.add(part, wordings, self._rows.place(wordings))

    def _is_mostly_unowned(self, blocks: Sequence[Block], same: int) -> bool:
        """Return whether most rows belong neither to these blocks nor to a view that is still used."""
        n_wordings = self._wordings.count_until(same)
        n_wordings += sum(block.rows["vectors"] for block in blocks[same:])
        if len(self._rows) <= SPARE + 2 * n_wordings:
            return False
        is_owned = torch.zeros(len(self._rows), dtype=torch.bool)
        for view in self._views:
            if view.generation == self._generation:
                is_owned[: len(view.owner)] |= view.is_owned
        return len(self._rows) > SPARE + 2 * (int(is_owned.sum()) + n_wordings)
