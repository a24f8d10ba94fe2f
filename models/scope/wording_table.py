"""The wordings of edits that a process has seen, in one table that only grows.

A view taken earlier finds its rows where they were: a reader never waits for an edit and an edit never disturbs a
reader. Equal wordings share a row, so a question that is edited a hundred times costs one. When most rows are nobody's
any more, of dry runs and edits taken back, a new table is begun; the old one goes with its last view.

An edit's block has, beside what its system needs: `wordings`, the texts, counterexamples last; `vectors`, their
sentence vectors in 8 bits; `subjects`, the known subject of each; `replaces`, the edits that it replaces; `n_against`,
how many counterexamples there are. Texts are joined by zero bytes.
"""

import threading
from collections.abc import Sequence
from itertools import islice, takewhile
from weakref import WeakSet

import torch
from more_itertools import batched
from torch import Tensor

from models.memory import Block, block_key
from models.scope.active import ActiveEdits, Wordings
from models.scope.judge import Judge
from models.scope.literals import digest_literals, digest_text, digest_wordings
from models.scope.readings import Readings, StoredReadings, Tokens, quantize
from models.scope.spelling import Lexicon

MIN_CAPACITY = 64  # rows
SPARE = 16_384  # rows that may be nobody's, 1 kB each
BLOCKS_AT_ONCE = 1_024
SEPARATOR = "\0"


class Rows:
    """Append-only. One writer at a time; readers of `table` need not wait for it."""

    def __init__(self, judge: Judge, device: torch.device) -> None:
        self._judge, self._device = judge, device
        self._storage, self._places = (
            StoredReadings.allocate(0, device),
            dict[int, int](),
        )  # by digest of the text
        self._tokens: list[Tokens] = []
        self.lexicon = Lexicon(judge.tokenizer)
        self.by_wording: dict[int, tuple[int, ...]] = {}

    def __len__(self) -> int:
        return len(self._places)

    @property
    def table(self) -> StoredReadings:
        """Return the rows written so far."""
        return self._storage.truncate(len(self))

    def place(self, texts: Sequence[str], vectors: Tensor, subjects: Tensor) -> list[int]:
        """Return the row of each wording, and append those that have none yet."""
        n_used = len(self)
        places = [self._places.setdefault(digest_text(text), len(self)) for text in texts]
        first = {place: row for row, place in reversed(list(enumerate(places))) if place >= n_used}
        rows = [first[place] for place in sorted(first)]
        fresh = [texts[row] for row in rows]
        self._tokens += map(self._judge.tokens, fresh)
        self.lexicon.add(self._tokens[n_used:], n_used)
        if len(self) > len(self._storage):
            storage = StoredReadings.allocate(max(MIN_CAPACITY, len(self) * 5 // 4), self._device)
            for column, old in zip(storage.columns, self._storage.columns, strict=True):
                column[:n_used] = old[:n_used]
            self._storage = StoredReadings(self._tokens, *storage.columns)
        digests = digest_wordings(fresh), digest_literals(fresh)
        columns = vectors[rows], vectors[rows].float().norm(dim=-1), *digests, subjects[rows]
        for column, values in zip(self._storage.columns, columns, strict=True):
            column[n_used : len(self)] = values.to(self._device)
        for row, digest in enumerate(digests[0].tolist(), n_used):
            self.by_wording[digest] = (*self.by_wording.get(digest, ()), row)
        return places


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
        self._rows = Rows(self._judge, self._device)
        self._places: dict[bytes, tuple[int, ...]] = {}  # by the block's digest, as all three
        self._n_against: dict[bytes, int] = {}
        self._replacements: dict[bytes, tuple[str, ...]] = {}
        self._blocks: tuple[Block, ...] = ()
        self._wordings = Wordings.empty()

    def view(self, blocks: Sequence[Block]) -> ActiveEdits:
        """Return the view of blocks in ledger order; those seen before are found by their digest."""
        with self._lock:
            if len(self._rows) > SPARE and self._is_mostly_unowned(blocks):
                self._begin()
            pairs = zip(self._blocks, blocks, strict=False)  # most versions begin as the last one did
            same = sum(1 for _ in takewhile(lambda pair: pair[0] is pair[1], pairs))
            self._learn([block for block in blocks[same:] if block.sha256 not in self._places])
            rows = [self._places[block.sha256] for block in blocks[same:]]
            n_against = [self._n_against.get(block.sha256, 0) for block in blocks[same:]]
            self._blocks = tuple(blocks)
            self._wordings = self._wordings.truncate(same).append(rows, n_against, same)
            heirs = self._heirs()
            view = ActiveEdits(
                self._generation,
                self._rows.table,
                self._wordings,
                heirs,
                self._blocks,
                self._rows.lexicon,
                self._rows.by_wording,
            )
            self._views.add(view)
        return view

    def _learn(self, blocks: Sequence[Block]) -> None:
        """Remember the rows of new blocks, and which edits they replace."""
        for part in batched(blocks, BLOCKS_AT_ONCE):
            rows = [block.tensors for block in part]
            wordings = [read_texts(tensors["wordings"]) for tensors in rows]
            vectors = torch.cat([tensors["vectors"] for tensors in rows])
            subjects = torch.cat([tensors["subjects"] for tensors in rows])
            places = iter(self._rows.place([text for texts in wordings for text in texts], vectors, subjects))
            for block, tensors, texts in zip(part, rows, wordings, strict=True):
                self._places[block.sha256] = tuple(islice(places, len(texts)))
                if block.rows["replaces"]:
                    self._replacements[block.sha256] = tuple(read_texts(tensors["replaces"]))
                if "n_against" in tensors:
                    self._n_against[block.sha256] = int(tensors["n_against"])

    def _heirs(self) -> Tensor:
        """Return, for each edit, the latest one that replaces it, directly or through others."""
        heirs = list(range(len(self._blocks)))
        if self._replacements:
            places = {block.key: place for place, block in enumerate(self._blocks)}
            for place, block in enumerate(self._blocks):
                for edit in self._replacements.get(block.sha256, ()):
                    earlier = places.get(block_key(edit), place)
                    heirs[earlier] = max(heirs[earlier], place)
            for place in reversed(range(len(heirs))):
                heirs[place] = heirs[heirs[place]]
        return torch.tensor(heirs, dtype=torch.long)

    def _is_mostly_unowned(self, blocks: Sequence[Block]) -> bool:
        """Return whether most rows belong neither to these blocks nor to a view that is still used."""
        is_owned = torch.zeros(len(self._rows), dtype=torch.bool)
        for view in self._views:
            if view.generation == self._generation:
                is_owned[: len(view.owner)] |= view.is_owned
        n_used = int(is_owned.sum()) + sum(block.rows["vectors"] for block in blocks)
        return len(self._rows) > SPARE + 2 * n_used


def write_block(
    texts: Sequence[str], readings: Readings, replaces: Sequence[str] = (), n_against: int = 0
) -> dict[str, Tensor]:
    """Return what an edit's block has for the scope, on the CPU.

    Args:
        texts: The wordings; counterexamples come last.
        readings: Readings of the texts.
        replaces: Ids of the edits that the new one replaces.
        n_against: Number of counterexamples.
    """
    against = {"n_against": torch.tensor(n_against, dtype=torch.int32)} if n_against else {}
    return against | {
        "wordings": _write_texts(texts),
        "vectors": quantize(readings.vectors).cpu(),
        "subjects": readings.subjects.cpu(),
        "replaces": _write_texts(replaces),
    }


def read_texts(codes: Tensor) -> list[str]:
    """Return the texts that a block has."""
    return codes.numpy().tobytes().decode().split(SEPARATOR)


def _write_texts(texts: Sequence[str]) -> Tensor:
    return torch.tensor(list(SEPARATOR.join(texts).encode()), dtype=torch.uint8)
