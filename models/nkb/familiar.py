"""Whom the model was taught about: one reading of each subject, to tell a memory from a guess.

128 numbers of 8 bits a subject, about a megabyte for the world pack.
"""

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from models.nkb.scope import ASPECT

SCALE = 127.0


def pack(readings: Float[Tensor, "reading width"]) -> Int[Tensor, "reading width"]:
    """Unit readings as 8-bit numbers, each row scaled to its own largest entry."""
    return (readings / readings.abs().amax(-1, keepdim=True) * SCALE).round().to(torch.int8)


def unpack(packed: Int[Tensor, "reading width"]) -> Float[Tensor, "reading width"]:
    return F.normalize(packed.float(), dim=-1)


def familiarity(
    keys: Float[Tensor, "batch key"], taught: Float[Tensor, "subject aspect"]
) -> Float[Tensor, " batch"]:
    """Cosine of each question's subject and the nearest one that was taught."""
    return (keys[:, :ASPECT] @ taught.T).amax(-1)
