"""What one row of a batch reads from the editable memory, and how rows with different reads share one pass.

Only the bank's product differs between versions: with a the slot weights and V' the changed value rows,
ex = a V + a[changed] (V' - V)[changed], so a batch needs one extra product whatever versions it mixes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import torch
from jaxtyping import Float, Int
from torch import Tensor

from models.nkb.fused import Layer


@dataclass(frozen=True, eq=False)
class BankRead:
    """One request's view of the banks.

    values: per layer, slots and the value rows that stand in them instead of the base's, as the checkpoint
        stores them. Rows of a batch that hold the same object are grouped.
    steps: gated slots. At decode step t < T the last layer gives h + ori + steps[t]: the row stands in place
        of the bank's output there. None, or later steps: the bank is read.
    """

    values: Mapping[int, tuple[Int[Tensor, " n"], Float[Tensor, "n d"]]] = field(default_factory=dict)
    steps: Float[Tensor, "step d"] | None = None


@dataclass(frozen=True)
class Changes:
    """Value rows that differ from the base, for all groups of a batch in one layer.

    reads: 1 where a row of the batch reads a change. slots: which slot weight each change is scaled by.
    """

    reads: Float[Tensor, "batch n"]
    slots: Int[Tensor, " n"]
    rows: Float[Tensor, "n d"]

    def effect(self, weights: Float[Tensor, "batch token acting"]) -> Float[Tensor, "batch token d"]:
        """What the changes add to the bank's output at these slot weights."""
        return (weights[..., self.slots] * self.reads[:, None]) @ self.rows

    def select(self, rows: Int[Tensor, " kept"]) -> "Changes":
        return Changes(self.reads[rows], self.slots, self.rows)


@dataclass(frozen=True)
class Gates:
    """Rows that replace the last bank's output. open: 0 where the bank is shut, 1 where it is read."""

    open: Float[Tensor, "batch step 1"]
    steps: Float[Tensor, "batch step d"]

    def reach(self, start: int) -> bool:
        return start < self.open.shape[1]

    def shut(self, weights: Float[Tensor, "batch token acting"], start: int) -> None:
        """Silence the slots, in place, where a gate stands; `start` is the step of the first token."""
        is_open = self.open[:, start : start + weights.shape[1]]
        weights[:, : is_open.shape[1]] *= is_open

    def add(self, out: Float[Tensor, "batch token d"], start: int) -> None:
        """Put the gates' rows where the bank was silenced, in place."""
        steps = self.steps[:, start : start + out.shape[1]]
        out[:, : steps.shape[1]] += steps

    def select(self, rows: Int[Tensor, " kept"]) -> "Gates":
        return Gates(self.open[rows], self.steps[rows])


def find_changes(reads: Sequence[BankRead | None], layers: Sequence[Layer]) -> dict[int, Changes]:
    """By layer. ValueError for a layer without a bank or a slot outside it."""
    named = {layer for read in reads if read for layer in read.values}
    return {index: _in_layer(reads, index, layers) for index in sorted(named)}


def _in_layer(reads: Sequence[BankRead | None], index: int, layers: Sequence[Layer]) -> Changes:
    groups: dict[int, list[int]] = {}
    for row, read in enumerate(reads):
        if read is not None and index in read.values:
            groups.setdefault(id(read.values), []).append(row)
    firsts = [reads[rows[0]] for rows in groups.values()]
    parts = [_difference(read.values[index], index, layers) for read in firsts if read is not None]
    rows = torch.cat([difference for _, difference in parts])
    member = rows.new_zeros(len(reads), len(rows))
    start = 0
    for members, (slots, _) in zip(groups.values(), parts, strict=True):
        member[members, start : start + len(slots)] = 1
        start += len(slots)
    return Changes(member, torch.cat([slots for slots, _ in parts]), rows)


def _difference(
    value: tuple[Tensor, Tensor], index: int, layers: Sequence[Layer]
) -> tuple[Int[Tensor, " n"], Float[Tensor, "n d"]]:
    bank = layers[index].feed_forward.slots if 0 <= index < len(layers) else None
    if bank is None:
        raise ValueError(f"decoder layer {index} has no bank to read changed values in")
    base = bank.stored
    slots, rows = value[0].to(base.device), value[1].to(base)
    if len(slots) and not 0 <= int(slots.min()) <= int(slots.max()) < len(base):
        raise ValueError(f"slots of layer {index} lie in 0..{len(base) - 1}, not {slots.tolist()}")
    return slots, bank.acting(rows - base[slots])


def find_gates(reads: Sequence[BankRead | None], like: Float[Tensor, "... d"]) -> Gates | None:
    """Padded to the longest; None when no row has any."""
    wanted = [None if read is None else read.steps for read in reads]
    longest = max((len(steps) for steps in wanted if steps is not None), default=0)
    if longest == 0:
        return None
    is_open = like.new_ones(len(reads), longest, 1)
    padded = like.new_zeros(len(reads), longest, like.shape[-1])
    for row, steps in enumerate(wanted):
        if steps is not None:
            is_open[row, : len(steps)] = 0
            padded[row, : len(steps)] = steps.to(like)
    return Gates(is_open, padded)
