"""Whom the model was taught about: one reading of each subject, to tell a memory from a guess, and one from another.

128 numbers of 8 bits a subject, about a megabyte for the world pack.
"""

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from models.nkb.scope import ASPECT

SCALE = 127.0
KNOWN = 0.9  # cosine from which on a question is about the subject; of 7,500 held phrasings none was about another
UNKNOWN = -1  # subject of a question about none that was taught
AT_A_TIME = 1_024  # questions compared in one product, 30 MB with the world pack


def pack(readings: Float[Tensor, "reading width"]) -> Int[Tensor, "reading width"]:
    """Unit readings as 8-bit numbers, each row scaled to its own largest entry."""
    return (readings / readings.abs().amax(-1, keepdim=True) * SCALE).round().to(torch.int8)


def unpack(packed: Int[Tensor, "reading width"]) -> Float[Tensor, "reading width"]:
    return F.normalize(packed.float(), dim=-1)


def familiarity(
    keys: Float[Tensor, "batch key"], taught: Float[Tensor, "subject aspect"]
) -> tuple[Float[Tensor, " batch"], Int[Tensor, " batch"]]:
    """Cosine of each question's subject and the nearest one that was taught; and which that is, where it is near."""
    parts = [(some[:, :ASPECT] @ taught.T).max(-1) for some in torch.split(keys, AT_A_TIME)]
    near = torch.cat([part.values for part in parts])
    subject = torch.cat([part.indices for part in parts])
    return near, subject.masked_fill_(near < KNOWN, UNKNOWN)
