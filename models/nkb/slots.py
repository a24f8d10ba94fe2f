"""All gated slots a replica has ever seen in one table, and which of them a question opens at one version.

The table only grows, so a view taken earlier still finds its rows where they were: a reader never waits for an
edit and an edit never disturbs a reader. A view is the list of rows that are active at its version.
"""

import threading
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from models.memory import Block
from models.nkb.scope import KEY, Scope

CONSIDERED = 16  # gates examined closely for a question, nearest first


@dataclass(frozen=True, eq=False)
class Gates:
    """The active gates of one version.

    keys, numbers: the whole table as it stood. active: True at rows of this version. owner: for each row, its
    edit's place in `edits`, which are in ledger order: of two edits of one fact the later one answers.
    """

    keys: Float[Tensor, "row key"]
    numbers: Int[Tensor, " row"]
    active: Bool[Tensor, " row"]
    owner: Int[Tensor, " row"]
    edits: tuple[Block, ...]


@dataclass(frozen=True)
class Opened:
    """The edit whose gate a question opened, and how sure the gate is (log-odds)."""

    block: Block
    logit: float


class SlotTable:
    """Append-only keys of gated slots. Safe to grow while others read."""

    def __init__(self) -> None:
        self._keys = torch.empty(0, KEY)
        self._numbers = torch.empty(0, dtype=torch.int64)
        self._rows: dict[str, range] = {}
        self._used = 0
        self._lock = threading.Lock()

    def gates(self, blocks: Sequence[Block]) -> Gates:
        """The view of these blocks, in ledger order. Blocks seen before are found by their digest."""
        with self._lock:
            places = [self._place(block) for block in blocks]
            keys, numbers, used = self._keys[: self._used], self._numbers[: self._used], self._used
        active, owner = torch.zeros(used, dtype=torch.bool), torch.zeros(used, dtype=torch.long)
        rows = torch.tensor([row for place in places for row in place], dtype=torch.long)
        sizes = torch.tensor([len(place) for place in places], dtype=torch.long)
        active[rows] = True
        owner[rows] = torch.arange(len(blocks)).repeat_interleave(sizes)
        return Gates(keys, numbers, active, owner, tuple(blocks))

    def _place(self, block: Block) -> range:
        rows = self._rows.get(block.digest)
        if rows is None:
            keys = block.tensors["keys"]
            rows = range(self._used, self._used + len(keys))
            self._reserve(rows.stop)
            self._keys[rows.start : rows.stop] = keys
            self._numbers[rows.start : rows.stop] = block.tensors["numbers"]
            self._rows[block.digest], self._used = rows, rows.stop
        return rows

    def _reserve(self, rows: int) -> None:
        if rows > len(self._keys):
            size = max(64, 2 * rows)
            keys, numbers = torch.empty(size, KEY), torch.empty(size, dtype=torch.int64)
            keys[: self._used], numbers[: self._used] = self._keys[: self._used], self._numbers[: self._used]
            self._keys, self._numbers = keys, numbers


def opened(
    scope: Scope,
    asked: Float[Tensor, "batch key"],
    numbers: Int[Tensor, " batch"],
    gates: Sequence[Gates],
    threshold: float,
) -> list[Opened | None]:
    """For each question, the edit that its version's gates open, if any.

    One product with the largest table serves every version in the batch; a version masks what it does not hold.
    """
    largest = max(gates, key=lambda view: len(view.keys), default=None)
    if largest is None or not len(largest.keys):
        return [None] * len(asked)
    table = largest.keys
    held = torch.zeros(len(asked), len(table), dtype=torch.bool)
    for row, view in enumerate(gates):
        held[row, : len(view.active)] = view.active
    held &= largest.numbers == numbers[:, None]
    logits, rows = _nearest(scope, asked, table, held)
    return [
        _latest(scope, gates[i], rows[i], logits[i], threshold)
        if float(logits[i].max()) > threshold
        else None
        for i in range(len(asked))
    ]


def _nearest(scope: Scope, asked: Tensor, table: Tensor, held: Tensor) -> tuple[Tensor, Tensor]:
    """Log-odds and rows of the gates worth a closer look: [batch considered] each."""
    near = (asked @ table.T).masked_fill(~held, float("-inf"))
    best = near.topk(min(CONSIDERED, len(table)), -1)
    pairs = scope.cosines_of_pairs(asked[:, None].expand(-1, best.indices.shape[1], -1), table[best.indices])
    return scope.logit(pairs).masked_fill(best.values.isinf(), float("-inf")), best.indices


def _latest(scope: Scope, view: Gates, rows: Tensor, logits: Tensor, threshold: float) -> Opened:
    """The best gate's edit, or the latest edit that is about the same fact as the best one."""
    best = rows[logits.argmax()]
    chosen = best
    for row in rows[logits > threshold]:
        is_later = view.owner[row] > view.owner[chosen]
        if is_later and same_fact(scope, view.keys[row], view.keys[best], threshold):
            chosen = row
    return Opened(view.edits[int(view.owner[chosen])], float(logits.max()))


def same_fact(scope: Scope, one: Tensor, other: Tensor, threshold: float) -> bool:
    return float(scope.logit(scope.cosines_of_pairs(one, other))) > threshold
