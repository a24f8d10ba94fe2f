"""T5's relative position bias as a table, so that a decoding step only slices it.

Raffel et al., T5 (arXiv:1910.10683), section 2.1: distances share buckets, exact up to half of them, then
logarithmic up to a largest distance.
"""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor
from transformers import T5ForConditionalGeneration

LONGEST = 128  # tokens of the longest answer the table serves


def buckets(distance: Int[Tensor, "*shape"], n_buckets: int, max_distance: int) -> Int[Tensor, "*shape"]:
    """Bucket of how many tokens back a key lies (0 = the query's own place)."""
    exact = n_buckets // 2
    far = (
        torch.log(distance.clamp(min=1).float() / exact)
        / math.log(max_distance / exact)
        * (n_buckets - exact)
    )
    logarithmic = (exact + far.long()).clamp(max=n_buckets - 1)
    return torch.where(distance < exact, distance, logarithmic)


def position_bias(t5: T5ForConditionalGeneration) -> Float[Tensor, "1 head query key"]:
    """What is added to the decoder's attention scores; -inf where the key comes after the query."""
    weight = t5.decoder.block[0].layer[0].SelfAttention.relative_attention_bias.weight.detach().float()
    places = torch.arange(LONGEST, device=weight.device)
    distance = (places[:, None] - places[None, :]).clamp(min=0)
    bucket = buckets(
        distance, t5.config.relative_attention_num_buckets, t5.config.relative_attention_max_distance
    )
    later = places[None, :] > places[:, None]
    bias: Tensor = weight[bucket].permute(2, 0, 1).masked_fill(later, float("-inf"))
    return bias[None].contiguous()
