"""The ablations of the paper (Liu et al., K-BERT, arXiv:1909.07606, section 4.5)."""

from dataclasses import replace

import torch

from models.kbert.row import Batch


def without_visible_matrix(batch: Batch) -> Batch:
    """Let every token see all real ones, with facts and soft positions."""
    return replace(batch, visible=batch.is_real[:, None, :].expand_as(batch.visible))


def with_hard_positions(batch: Batch) -> Batch:
    """Count positions by the place in the row."""
    places = torch.arange(batch.ids.shape[1]).expand_as(batch.ids)
    return replace(batch, positions=torch.where(batch.is_real, places, batch.positions))
