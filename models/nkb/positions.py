"""T5's relative position bias as a table that a step only slices."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

from models.nkb.skeleton import T5

LONGEST = 128  # tokens of the longest answer in the position table


def buckets(distance: Int[Tensor, "*shape"], n_buckets: int, max_distance: int) -> Int[Tensor, "*shape"]:
    """Return the bucket of each distance, the number of tokens that a key lies back (0 = the query's own place).

    Raffel et al., T5 (arXiv:1910.10683), section 2.1: distances share buckets, exact up to half of them, then
    logarithmic up to a largest distance.
    """
    exact = n_buckets // 2
    far = (
        torch.log(distance.clamp(min=1).float() / exact)
        / math.log(max_distance / exact)
        * (n_buckets - exact)
    )
    logarithmic = (exact + far.long()).clamp(max=n_buckets - 1)
    return torch.where(distance < exact, distance, logarithmic)


def position_bias(t5: T5) -> Float[Tensor, "1 head query key"]:
    """Return the addition to the decoder's attention scores; -inf where the key comes after the query."""
    weight = t5.decoder.block[0].layer[0].SelfAttention.relative_attention_bias.weight.detach().float()
    places = torch.arange(LONGEST, device=weight.device)
    distance = (places[:, None] - places[None, :]).clamp(min=0)
    bucket = buckets(
        distance, t5.config.relative_attention_num_buckets, t5.config.relative_attention_max_distance
    )
    later = places[None, :] > places[:, None]
    bias: Tensor = weight[bucket].permute(2, 0, 1).masked_fill(later, float("-inf"))
    return bias[None].contiguous()
