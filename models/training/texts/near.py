"""Relations that are easily taken for each other."""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor


@torch.no_grad()
def sort_by_nearness(
    ids: Sequence[str], first: Float[Tensor, "relation width"], second: Float[Tensor, "relation width"]
) -> dict[str, list[str]]:
    """Return for each relation the others, by the cosine of its first vector and their second ones."""
    cosines = F.normalize(first, dim=-1) @ F.normalize(second, dim=-1).T
    order = cosines.argsort(dim=1, descending=True).tolist()
    return {id: [ids[other] for other in row if ids[other] != id] for id, row in zip(ids, order, strict=True)}
