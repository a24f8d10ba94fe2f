"""Rows of different lengths as one block of tensors.

Padding is [PAD] at the last position of the block and sees nothing and nobody sees it, so it changes no other
token; heads leave it out (specs/kbert.md, section 3.4).
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from models.attention.visible import TRUNK, visible
from models.kbert.row import Row


@dataclass(frozen=True)
class Batch:
    """branch, anchor: see models/attention/visible.py; TRUNK and 0 at padding. real: False at padding.

    visible: True where a query may attend to a key.
    """

    ids: Int[Tensor, "batch token"]
    positions: Int[Tensor, "batch token"]
    segments: Int[Tensor, "batch token"]
    branch: Int[Tensor, "batch token"]
    anchor: Int[Tensor, "batch token"]
    real: Bool[Tensor, "batch token"]
    visible: Bool[Tensor, "batch query key"]

    def to(self, device: torch.device | str) -> "Batch":
        return Batch(**{one.name: getattr(self, one.name).to(device) for one in fields(self)})

    def rows(self, which: Int[Tensor, " row"]) -> "Batch":
        """Some of the rows, in this order."""
        return Batch(**{one.name: getattr(self, one.name)[which] for one in fields(self)})

    def without_visible_matrix(self) -> "Batch":
        """Every token sees all real ones; facts and soft positions stay. The paper's ablation."""
        return replace(self, visible=self.real[:, None, :].expand_as(self.visible))

    def with_hard_positions(self) -> "Batch":
        """Positions by place in the row instead of soft ones. The paper's ablation."""
        places = torch.arange(self.ids.shape[1], device=self.ids.device).expand_as(self.ids)
        return replace(self, positions=torch.where(self.real, places, self.positions))


def collate(rows: Sequence[Row], padding: int, length: int | None = None) -> Batch:
    """The rows padded to `length`, or to the longest of them. padding: the id of [PAD]."""
    length = max(map(len, rows)) if length is None else length
    fill = torch.tensor([padding, length - 1, 0, TRUNK, 0])
    block = fill.repeat(len(rows), length, 1)
    real = torch.arange(length) < torch.tensor([len(row) for row in rows])[:, None]
    block[real] = torch.cat([row.table for row in rows])
    ids, positions, segments, branch, anchor = block.unbind(-1)
    tagging = torch.tensor([row.kind == "tagging" for row in rows])  # the authors' tagger never marks padding
    return Batch(
        ids=ids,
        positions=positions,
        segments=torch.where(tagging[:, None] & ~real, 1, segments),
        branch=branch,
        anchor=anchor,
        real=real,
        visible=visible(branch, anchor) & real[:, :, None] & real[:, None, :],
    )
