"""Every piece of a word as a direction of its own, so that names are compared as they are spelt.

To a language model French and Portuguese, sodium and potassium mean nearly the same. Here no two pieces are near:
each stands for 128 signs, drawn by SHA-256, and a text is the weighted sum of its pieces. Two names of three pieces
that share two have a cosine of about 2/3 (give or take 0.09), whatever they mean.
"""

from functools import lru_cache
from hashlib import sha256

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

SIGNS = 128
PIECES = 30_522  # of the encoder's vocabulary
SILENT = (0, 101, 102)  # padding, and the marks at the beginning and the end of every text


def spelling(ids: Int[Tensor, "*token"]) -> Float[Tensor, "*token sign"]:
    """A unit vector for each piece, zero for those that are no part of the text."""
    directions: Tensor = _signs()[ids] * SIGNS**-0.5
    return directions


@lru_cache(1)
def _signs() -> Int[Tensor, "piece sign"]:
    """In 8 bits, 4 MB."""
    drawn = b"".join(sha256(piece.to_bytes(4, "little")).digest()[: SIGNS // 8] for piece in range(PIECES))
    signs = np.unpackbits(np.frombuffer(drawn, dtype=np.uint8)).reshape(PIECES, SIGNS)
    vectors = torch.from_numpy(signs.astype(np.int8)).mul_(2).sub_(1)
    vectors[list(SILENT)] = 0
    return vectors
