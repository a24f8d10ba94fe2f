"""Every piece of a word as a direction of its own, so that names are compared as they are spelt.

To a language model French and Portuguese, sodium and potassium mean nearly the same. Here no two pieces are near:
each stands for 128 signs, drawn by SHA-256, and a text is the weighted sum of its pieces. Two names of three pieces
that share two have a cosine of about 2/3 (give or take 0.09), whatever they mean.
"""

from functools import lru_cache
from hashlib import sha256

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

SIGNS = 128
PIECES = 30_522  # of the encoder's vocabulary
SILENT = (0, 101, 102)  # padding, and the marks at the beginning and the end of every text


@lru_cache(1)
def spelling() -> Float[Tensor, "piece sign"]:
    """A unit vector for each piece, zero for those that are no part of the text."""
    drawn = b"".join(sha256(piece.to_bytes(4, "little")).digest()[: SIGNS // 8] for piece in range(PIECES))
    signs = np.unpackbits(np.frombuffer(drawn, dtype=np.uint8)).reshape(PIECES, SIGNS)
    vectors = torch.from_numpy(signs).float().mul_(2).sub_(1).mul_(SIGNS**-0.5)
    vectors[list(SILENT)] = 0.0
    return vectors
