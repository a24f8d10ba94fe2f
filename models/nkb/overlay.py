"""Rows that a question reads instead of the base's, and one pass for questions with different overlays.

Only the bank's product differs between versions: with a the slot weights and V' the changed value rows,
ex = a V + a[changed] (V' - V)[changed], so a batch needs one extra product whatever versions it mixes.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import torch
from jaxtyping import Float, Int
from torch import Tensor

from models.blocks import Block
from models.nkb.fused import Layer

Place = tuple[int, int]  # layer and slot
# slots of each layer, and their rows
ValueRows = Mapping[int, tuple[Int[Tensor, " n"], Float[Tensor, "n d"]]]


@dataclass(frozen=True, eq=False)
class Overlay:
    """One request's view of the banks."""

    # For each layer, slots and the value rows that stand in them instead of the base's, as the checkpoint stores
    # them. Rows of a batch that hold the same object are grouped.
    values: ValueRows = field(default_factory=dict)
    # Rows of gated slots. At decode step t < T the last layer gives h + ori + steps[t]: the row stands in place of
    # the bank's output. None, and at later steps, the bank is read.
    steps: Float[Tensor, "step d"] | None = None


def value_rows(
    blocks: Sequence[Block], device: torch.device | str = "cpu"
) -> tuple[ValueRows, Mapping[Place, tuple[str, ...]]]:
    """Collect value blocks as an overlay has them, on a device, and the edits that moved each place."""
    layers: dict[int, tuple[list[int], list[Tensor]]] = defaultdict(lambda: ([], []))
    edits: dict[Place, tuple[str, ...]] = {}
    for block in blocks:
        layer, slot = int(block.tensors["layer"]), int(block.tensors["slot"])
        layers[layer][0].append(slot)
        layers[layer][1].append(block.tensors["row"])
        edits[layer, slot] = tuple(block.key.split("/")[-1].split("+"))
    values = {
        layer: (torch.tensor(slots, device=device), torch.stack(rows).to(device))
        for layer, (slots, rows) in layers.items()
    }
    return values, edits


def same_rows(before: ValueRows, after: ValueRows) -> bool:
    """Return whether both have the same rows, bit for bit."""
    return before.keys() == after.keys() and all(
        torch.equal(*pair) for layer in before for pair in zip(before[layer], after[layer], strict=True)
    )


@dataclass(frozen=True)
class Changes:
    """Value rows that differ from the base, for all groups of a batch in one layer."""

    member: Float[Tensor, "batch n"]  # 1 where a row of the batch reads a change
    slots: Int[Tensor, " n"]  # slot whose weight scales each change
    rows: Float[Tensor, "n d"]

    def effect(self, weights: Float[Tensor, "batch token acting"]) -> Float[Tensor, "batch token d"]:
        """Return the addition of the changes to the bank's output at these slot weights."""
        return (weights[..., self.slots] * self.member[:, None]) @ self.rows

    def select(self, rows: Int[Tensor, " row"]) -> "Changes":
        return Changes(self.member[rows], self.slots, self.rows)


@dataclass(frozen=True)
class GateRows:
    """Rows that replace the last bank's output; `is_open` is 0 at steps whose bank is shut, and 1 at others."""

    is_open: Float[Tensor, "batch step 1"]
    steps: Float[Tensor, "batch step d"]

    def reach(self, start: int) -> bool:
        return start < self.is_open.shape[1]

    def shut(self, weights: Float[Tensor, "batch token acting"], start: int) -> None:
        """Silence, in place, the slots at steps that a gate replaces; `start` is the step of the first token."""
        is_open = self.is_open[:, start : start + weights.shape[1]]
        weights[:, : is_open.shape[1]] *= is_open

    def add(self, out: Float[Tensor, "batch token d"], start: int) -> None:
        """Add the gates' rows, in place, at the steps whose bank was silenced."""
        steps = self.steps[:, start : start + out.shape[1]]
        out[:, : steps.shape[1]] += steps

    def select(self, rows: Int[Tensor, " row"]) -> "GateRows":
        return GateRows(self.is_open[rows], self.steps[rows])


def find_changes(overlays: Sequence[Overlay | None], layers: Sequence[Layer]) -> dict[int, Changes]:
    """Find the changes of a batch by layer. ValueError: a layer has no bank, or a slot lies outside of it."""
    indices = {layer for overlay in overlays if overlay for layer in overlay.values}
    return {index: _find_in_layer(overlays, index, layers) for index in sorted(indices)}


def _find_in_layer(overlays: Sequence[Overlay | None], index: int, layers: Sequence[Layer]) -> Changes:
    bank = layers[index].feed_forward.slots if 0 <= index < len(layers) else None
    if bank is None:
        raise ValueError(f"decoder layer {index} has no bank to read changed values in")
    base = bank.stored_rows
    groups: dict[int, list[int]] = {}
    values: dict[int, ValueRows] = {}
    for row, overlay in enumerate(overlays):
        if overlay is not None and index in overlay.values:
            groups.setdefault(id(overlay.values), []).append(row)
            values[id(overlay.values)] = overlay.values
    parts = []
    for group in groups:
        slots, new_rows = values[group][index][0].to(base.device), values[group][index][1].to(base)
        if len(slots) and not 0 <= int(slots.min()) <= int(slots.max()) < len(base):
            raise ValueError(f"slots of layer {index} lie in 0..{len(base) - 1}, not {slots.tolist()}")
        parts.append((slots, bank.acting(new_rows - base[slots])))
    rows = torch.cat([difference for _, difference in parts])
    member = rows.new_zeros(len(overlays), len(rows))
    start = 0
    for members, (slots, _) in zip(groups.values(), parts, strict=True):
        member[members, start : start + len(slots)] = 1
        start += len(slots)
    return Changes(member, torch.cat([slots for slots, _ in parts]), rows)


def find_gates(overlays: Sequence[Overlay | None], like: Float[Tensor, "... d"]) -> GateRows | None:
    """Find the gates of a batch, padded to the longest and made like a row of `like`; None without any."""
    steps_of = [None if overlay is None else overlay.steps for overlay in overlays]
    length = max((len(steps) for steps in steps_of if steps is not None), default=0)
    if length == 0:
        return None
    is_open = like.new_ones(len(overlays), length, 1)
    padded = like.new_zeros(len(overlays), length, like.shape[-1])
    for row, steps in enumerate(steps_of):
        if steps is not None:
            is_open[row, : len(steps)] = 0
            padded[row, : len(steps)] = steps.to(like)
    return GateRows(is_open, padded)
