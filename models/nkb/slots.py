"""The gated slots a replica has seen, in one table, and who owns and inherits each row at one version.

The table only grows, so a view taken earlier still finds its rows where they were: a reader never waits for an
edit and an edit never disturbs a reader. Wordings that read alike, bit for bit, share a row, so a question that is
edited a hundred times costs one. A row is compared with all others once, so that a view knows without asking which
rows are about one fact. When most rows are nobody's any more, of dry runs and edits taken back, a new table is
begun; the old one goes with its last view.
"""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, takewhile
from weakref import WeakSet

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from models.memory import Block
from models.nkb.alike import Compared, Keyed, Pairs, best
from models.nkb.familiar import familiarity
from models.nkb.names import MOST_WORDS
from models.nkb.rows import Rows
from models.nkb.scope import Scope
from models.nkb.wordings import NOBODY, Wordings

SPARE = 16_384  # rows that may be nobody's, 3 kB each


@dataclass(frozen=True, eq=False)
class Gates:
    """The active gates of one version.

    table: every row, as it stood. owner: for each row the place in `edits`, which are in ledger order, of the latest
    edit that has it, or NOBODY. Views of one generation have their rows in the same places.
    """

    generation: int
    table: Keyed
    compared: Compared
    owner: Int[Tensor, " row"]
    wordings: Wordings
    edits: tuple[Block, ...]

    @cached_property
    def alike(self) -> Pairs:
        """Pairs of rows that are about one fact; the first to ask waits for new rows to be compared."""
        return self.compared.of(self.table)

    @cached_property
    def owned(self) -> Bool[Tensor, " row"]:
        return self.owner != NOBODY

    @cached_property
    def latest(self) -> Int[Tensor, " row"]:
        """Which edit answers when this row's gate is the best: the latest one about the gate's fact.

        That is one with a gate that opens for this row, or for the question that the row's owner was made with. So a
        correction of a correction is heard in every wording that the first one was.
        """
        about = self.owner.clone().scatter_reduce_(0, self.alike.asked, self.owner[self.alike.found], "amax")
        made_with = (
            torch.where(self.owned, self.wordings.questions[self.owner], 0) if self.edits else self.owner
        )
        return torch.maximum(about, about[made_with]).masked_fill_(~self.owned, NOBODY)

    @cached_property
    def speakers(self) -> Int[Tensor, " row"]:
        """Which edit answers the question that each row was made of, or NOBODY."""
        _, row = best(self.alike.select(self.owned[self.alike.found]), len(self.table))
        return self.latest[row].masked_fill_(row == NOBODY, NOBODY)

    @cached_property
    def said(self) -> Int[Tensor, " row"]:
        """For each row the address of the block that answers there: two views that live agree where it is one block."""
        names = torch.tensor([id(edit) for edit in self.edits] or [NOBODY])
        return torch.where(self.owned, names[self.latest], NOBODY)

    def changed_since(self, before: "Gates") -> Keyed:
        """The gates that are in one view and not in the other, or say something else there. Of one generation."""
        longer = self if len(self.table) >= len(before.table) else before
        sides = torch.full((2, len(longer.table)), NOBODY)
        for side, view in zip(sides, (before, self), strict=True):
            side[: len(view.said)] = view.said
        return longer.table.select((sides[0] != sides[1]).nonzero().squeeze(1))

    def odd(self) -> dict[int, list[int]]:
        """Who answers the wordings of each edit that does not answer all of its own."""
        edits, rows = self.wordings.edits, self.wordings.rows
        odd = sorted(set(edits[self.speakers[rows] != edits].tolist()))
        return {edit: self.speakers[self.wordings.of(edit)].tolist() for edit in odd}


class SlotTable:
    """Append-only keys of gated slots. Safe to grow while others read."""

    def __init__(self, scope: Scope, taught: Float[Tensor, "subject aspect"]) -> None:
        self._scope, self._taught = scope, taught
        self._generation = 0
        self._lock = threading.Lock()
        self._views: WeakSet[Gates] = WeakSet()
        self._begin()

    def _begin(self) -> None:
        self._generation += 1
        self._rows = Rows()
        self._places: dict[str, tuple[int, ...]] = {}
        self._compared = Compared(self._scope)
        self._blocks: tuple[Block, ...] = ()
        self._wordings = Wordings.none()

    def gates(self, blocks: Sequence[Block]) -> Gates:
        """The view of these blocks, in ledger order. Blocks seen before are found by their digest."""
        with self._lock:
            if len(self._rows) > SPARE and self._is_mostly_nobodys(blocks):
                self._begin()
            wordings, table = self._followed(tuple(blocks)), self._rows.table
            owner = wordings.owner(len(table))
            view = Gates(self._generation, table, self._compared, owner, wordings, self._blocks)
            self._views.add(view)
        return view

    def _followed(self, blocks: tuple[Block, ...]) -> Wordings:
        """The wordings of these blocks: most versions begin as the last one did."""
        same = sum(
            1 for _ in takewhile(lambda pair: pair[0] is pair[1], zip(self._blocks, blocks, strict=False))
        )
        self._place([block for block in blocks[same:] if block.digest not in self._places])
        places = [self._places[block.digest] for block in blocks[same:]]
        self._blocks, self._wordings = blocks, self._wordings.of_first(same).followed_by(places, same)
        return self._wordings

    def _is_mostly_nobodys(self, blocks: Sequence[Block]) -> bool:
        """Beside these blocks and the views that are still used."""
        held = torch.zeros(len(self._rows), dtype=torch.bool)
        for view in self._views:
            if view.generation == self._generation:
                held[: len(view.owner)] |= view.owner != NOBODY
        wanted = int(held.sum()) + sum(block.rows["keys"] for block in blocks)
        return len(self._rows) > SPARE + 2 * wanted

    def _place(self, blocks: Sequence[Block]) -> None:
        """Rows for blocks that were not seen before."""
        if blocks:
            places = iter(self._rows.place(self._readings([block.tensors for block in blocks])))
            self._places |= {block.digest: tuple(islice(places, block.rows["keys"])) for block in blocks}

    def _readings(self, tensors: Sequence[Mapping[str, Tensor]]) -> Keyed:
        """Edits of before names were compared have no words."""
        keys = torch.cat([one["keys"] for one in tensors])
        numbers = torch.cat([one["numbers"] for one in tensors])
        words = [
            one["words"] if "words" in one else torch.zeros(len(one["keys"]), MOST_WORDS, dtype=torch.int32)
            for one in tensors
        ]
        return Keyed(keys, numbers, familiarity(keys, self._taught)[1], torch.cat(words))
