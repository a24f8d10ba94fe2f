"""The row of the position table that a query uses for a key, and the map from scores by row to scores by key.

Ding et al. (arXiv:2012.15688), the authors' code; the shift is Dai et al., Transformer-XL (arXiv:1901.02860), appendix
B. With d = (M + i) - j for query i of a segment and key j of [memory ; segment]:

    row(i, j) = T - 1 + d   if d > 0    (past, memory included)
    row(i, j) = -d          if d <= 0   (self is row 0, then the future)
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor


def row_index(segment: int, memory: int) -> Int[Tensor, "query key"]:
    """Return row(i, j) for each query and key."""
    distance = memory + torch.arange(segment)[:, None] - torch.arange(memory + segment)
    return torch.where(distance > 0, segment - 1 + distance, -distance)


def feed_order(segment: int, memory: int, device: torch.device) -> Int[Tensor, " place"]:
    """Return the rows in the order 2T+M-1, ..., T, 0, ..., T-1, in which `shift` expects their scores."""
    past = torch.arange(2 * segment + memory - 1, segment - 1, -1, device=device)
    return torch.cat([past, torch.arange(segment, device=device)])


def shift(scores: Float[Tensor, "batch head query place"]) -> Float[Tensor, "batch head query key"]:
    """Pick the score of row(i, j) for each query i and key j.

    In feed order that row stands at place T + j - i for the past and the future alike. One step down and one place to
    the left is a constant step in memory, so the scores are viewed with rows that are shorter by one.
    """
    batch, heads, segment, places = scores.shape
    flat = scores.reshape(batch, heads, segment * places)[..., segment:]
    return flat.view(batch, heads, segment, places - 1)[..., : places - segment]
