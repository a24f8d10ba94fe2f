"""The memory that one segment hands to the next: its start and its content.

Ding et al. (arXiv:2012.15688), section 3.3, "enhanced recurrence": the memory of layer l holds outputs of layer l and
is read by layer l of the next segment. One tensor [layer, batch, slot, width] in float32 holds all of it; nothing
changes a memory in place.
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from models.ernie_doc.config import ErnieDocConfig


def start_memory(
    config: ErnieDocConfig, batch: int, device: torch.device | str = "cpu"
) -> Float[Tensor, "layer batch slot width"]:
    """Return the memory before the first segment of a document: zeros, which take part in the attention."""
    return torch.zeros(config.layers, batch, config.memory, config.width, device=device)


def kept_index(mask: Float[Tensor, "batch token"], config: ErnieDocConfig) -> Int[Tensor, "batch slot"]:
    """Return the positions of [memory ; segment] that become the next memory.

    A row without any real token is a document that has ended: its memory stays.
    """
    slots = torch.arange(config.memory, device=mask.device)
    if not config.skips_padding:
        is_alive = mask.any(1, keepdim=True)
        return slots + is_alive * mask.shape[1]
    is_kept = torch.cat([mask.new_ones(len(mask), config.memory), mask], 1) > 0
    return is_kept.int().sort(dim=1, stable=True).indices[:, -config.memory :]


def advance(
    memory: Float[Tensor, "batch slot width"],
    outputs: Float[Tensor, "batch token width"],
    index: Int[Tensor, "batch slot"],
) -> Float[Tensor, "batch slot width"]:
    """Return the next memory of one layer, without a gradient: those of memory and outputs that `kept_index` names."""
    states = torch.cat([memory, outputs.detach().to(memory.dtype)], 1)
    return states.gather(1, index[..., None].expand(-1, -1, states.shape[-1]))


def is_written(memory: Float[Tensor, "layer batch slot width"]) -> Bool[Tensor, "batch slot"]:
    """Return True for the slots that a segment has written; a layer norm never leaves only zeros."""
    return memory.ne(0).any(-1).any(0)
