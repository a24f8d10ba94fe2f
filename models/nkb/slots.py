"""The gated slots a replica has seen, in one table, and which of them a question opens at one version.

The table only grows, so a view taken earlier still finds its rows where they were: a reader never waits for an
edit and an edit never disturbs a reader. A view says who owns each row at its version. Wordings that read alike,
bit for bit, share a row, so a question that is edited a hundred times costs one. When most rows are nobody's any
more, of dry runs and edits taken back, a new table is begun; the old one goes with its last view.
"""

import hashlib
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from weakref import WeakSet

import torch
from jaxtyping import Float, Int
from torch import Tensor

from models.memory import Block
from models.nkb.scope import KEY, Scope

CONSIDERED = 16  # gates examined closely for a question, nearest first
NOBODY = -1
SPARE = 16_384  # rows that may be nobody's, 3 kB each


@dataclass(frozen=True, eq=False)
class Gates:
    """The active gates of one version.

    keys, numbers: the whole table as it stood. owner: for each row the place in `edits`, which are in ledger
    order, of the latest edit that has it, or NOBODY. wordings: for each edit, the rows of its question
    and its paraphrases.
    Views of one generation have their rows in the same places.
    """

    generation: int

    keys: Float[Tensor, "row key"]
    numbers: Int[Tensor, " row"]
    owner: Int[Tensor, " row"]
    wordings: tuple[tuple[int, ...], ...]
    edits: tuple[Block, ...]


@dataclass(frozen=True)
class Opened:
    """The edit that answers a question, and how sure the gate is that it asks for the edit's fact (log-odds)."""

    block: Block
    logit: float


class SlotTable:
    """Append-only keys of gated slots. Safe to grow while others read."""

    def __init__(self) -> None:
        self._generation = 0
        self._lock = threading.Lock()
        self._views: WeakSet[Gates] = WeakSet()
        self._begin()

    def _begin(self) -> None:
        self._generation += 1
        self._keys = torch.empty(0, KEY)
        self._numbers = torch.empty(0, dtype=torch.int64)
        self._rows: dict[bytes, int] = {}
        self._places: dict[str, tuple[int, ...]] = {}

    def gates(self, blocks: Sequence[Block]) -> Gates:
        """The view of these blocks, in ledger order. Blocks seen before are found by their digest."""
        with self._lock:
            if len(self._rows) > SPARE and self._is_mostly_nobodys(blocks):
                self._begin()
            places = [self._place(block) for block in blocks]
            generation, used = self._generation, len(self._rows)
            keys, numbers = self._keys[:used], self._numbers[:used]
        rows = torch.tensor([row for place in places for row in place], dtype=torch.long)
        sizes = torch.tensor([len(place) for place in places], dtype=torch.long)
        edits = torch.arange(len(blocks)).repeat_interleave(sizes)
        owner = torch.full((len(keys),), NOBODY).scatter_reduce_(0, rows, edits, "amax")
        view = Gates(generation, keys, numbers, owner, tuple(places), tuple(blocks))
        with self._lock:
            self._views.add(view)
        return view

    def _is_mostly_nobodys(self, blocks: Sequence[Block]) -> bool:
        """Beside these blocks and the views that are still used."""
        held = torch.zeros(len(self._rows), dtype=torch.bool)
        for view in self._views:
            if view.generation == self._generation:
                held[: len(view.owner)] |= view.owner != NOBODY
        wanted = int(held.sum()) + sum(len(block.tensors["keys"]) for block in blocks)
        return len(self._rows) > SPARE + 2 * wanted

    def _place(self, block: Block) -> tuple[int, ...]:
        place = self._places.get(block.digest)
        if place is None:
            pairs = zip(block.tensors["keys"], block.tensors["numbers"], strict=True)
            place = self._places[block.digest] = tuple(self._row(key, number) for key, number in pairs)
        return place

    def _row(self, key: Tensor, number: Tensor) -> int:
        content = hashlib.sha256(key.numpy().tobytes() + number.numpy().tobytes()).digest()
        row = self._rows.get(content)
        if row is None:
            row = len(self._rows)
            self._reserve(row + 1)
            self._keys[row], self._numbers[row] = key, number
            self._rows[content] = row
        return row

    def _reserve(self, rows: int) -> None:
        if rows > len(self._keys):
            used, size = len(self._rows), max(64, 2 * rows)
            keys, numbers = torch.empty(size, KEY), torch.empty(size, dtype=torch.int64)
            keys[:used], numbers[:used] = self._keys[:used], self._numbers[:used]
            self._keys, self._numbers = keys, numbers


def opened(
    scope: Scope,
    asked: Float[Tensor, "batch key"],
    numbers: Int[Tensor, " batch"],
    gates: Sequence[Gates],
    threshold: float,
) -> list[Opened | None]:
    """For each question, the edit that its version's gates open, if any.

    That is the latest edit about the fact that the best gate is for: one that asks for the same as the best gate,
    or as the question that the best gate's edit was made with. So a correction of a correction is heard in every
    wording that the first one was. One product with the largest table serves every version in the batch.
    """
    found: list[Opened | None] = [None] * len(asked)
    for generation in {view.generation for view in gates}:
        rows = [row for row, view in enumerate(gates) if view.generation == generation]
        some = _opened(scope, asked[rows], numbers[rows], [gates[row] for row in rows], threshold)
        for row, one in zip(rows, some, strict=True):
            found[row] = one
    return found


def _opened(
    scope: Scope, asked: Tensor, numbers: Tensor, gates: Sequence[Gates], threshold: float
) -> list[Opened | None]:
    """The same for versions of one generation."""
    found: list[Opened | None] = [None] * len(asked)
    largest = max(gates, key=lambda view: len(view.keys))
    if not len(largest.keys):
        return found
    owner = _owners(gates, largest, numbers)
    logits, best = _best(scope, asked, largest.keys, owner)
    rows = (logits > threshold).nonzero()[:, 0]
    if len(rows):
        latest = _latest(scope, largest.keys, owner[rows], _anchors(gates, owner, rows, best), threshold)
        for row, edit in zip(rows.tolist(), latest.tolist(), strict=True):
            found[row] = Opened(gates[row].edits[edit], float(logits[row]))
    return found


def _owners(gates: Sequence[Gates], largest: Gates, numbers: Tensor) -> Int[Tensor, "batch row"]:
    """Who owns each row at each question's version, where the numbers in the question agree."""
    owner = torch.full((len(gates), len(largest.keys)), NOBODY)
    for row, view in enumerate(gates):
        owner[row, : len(view.owner)] = view.owner
    return owner.masked_fill_(largest.numbers != numbers[:, None], NOBODY)


def _best(
    scope: Scope, asked: Tensor, table: Tensor, owner: Tensor
) -> tuple[Float[Tensor, " batch"], Int[Tensor, " batch"]]:
    """Log-odds and row of each question's best gate; minus infinity when it has none."""
    logits, rows = _nearest(scope, asked[:, None], table, owner == NOBODY)
    best = logits.max(-1)
    return best.values, rows.gather(1, best.indices[:, None])[:, 0]


def _anchors(gates: Sequence[Gates], owner: Tensor, rows: Tensor, best: Tensor) -> Int[Tensor, "opened 2"]:
    """What tells an edit's fact: the gate that opened, and the question the edit was made with."""
    edits = owner[rows, best[rows]].tolist()
    questions = [gates[row].wordings[edit][0] for row, edit in zip(rows.tolist(), edits, strict=True)]
    return torch.stack([best[rows], torch.tensor(questions)], 1)


def _latest(
    scope: Scope,
    table: Tensor,
    owner: Int[Tensor, "opened row"],
    anchors: Int[Tensor, "opened 2"],
    threshold: float,
) -> Int[Tensor, " opened"]:
    """Places of the latest edits about the anchors' facts; each round looks at later ones than the last found."""
    latest = owner.gather(1, anchors[:, :1])[:, 0]
    while True:
        logits, rows = _nearest(scope, table[anchors], table, owner <= latest[:, None])
        later = owner.gather(1, rows).masked_fill(logits <= threshold, NOBODY).amax(1)
        if bool((later <= latest).all()):
            return latest
        latest = torch.maximum(latest, later)


def _nearest(
    scope: Scope, asked: Float[Tensor, "n anchor key"], table: Tensor, hidden: Tensor
) -> tuple[Float[Tensor, "n considered"], Int[Tensor, "n considered"]]:
    """Log-odds and rows of the gates worth a closer look, each for the anchor it fits best."""
    near = (asked @ table.T).amax(1).masked_fill_(hidden, float("-inf"))
    best = near.topk(min(CONSIDERED, len(table)), -1)
    keys = table[best.indices][:, None].expand(-1, asked.shape[1], -1, -1)
    logits = scope.logit(scope.cosines_of_pairs(asked[:, :, None].expand_as(keys), keys)).amax(1)
    return logits.masked_fill(best.values.isinf(), float("-inf")), best.indices
