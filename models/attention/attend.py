"""Attention over the pairs that a mask allows, on the pairs alone or densely, whichever is quicker.

softmax over A(i) of the scores s_ij = scale k_j q_i, times v_j (Vaswani et al., arXiv:1706.03762, equation 1); A(i)
holds the keys that the rules allow. In float32 each path is within 1e-6 of float64.
"""

import warnings
from typing import Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from models.attention.mask import Mask

# Share of allowed pairs below which only these are computed.
SPARSE_BELOW = 0.125
# Treatment of a query without any key: zeros; no row at all, as in PyNeuraLogic; or the rest of its scores
# after -10000 is added to all of them, nearly an average of all values, as in the library of K-BERT's authors.
EmptyRow = Literal["zero", "drop", "uniform"]
Path = Literal["auto", "dense", "pairs"]

with warnings.catch_warnings():  # torch says once per process that its compressed sparse tensors are young
    warnings.simplefilter("ignore", UserWarning)
    torch.eye(1).to_sparse_csr()


def attend(
    query: Float[Tensor, "*batch query size"],
    key: Float[Tensor, "*batch key size"],
    value: Float[Tensor, "*batch key width"],
    mask: Mask,
    scale: float,
    empty_row: EmptyRow = "zero",
    path: Path = "auto",
) -> Float[Tensor, "*batch result width"]:
    """Attend from each query to its allowed keys.

    Args:
        query: The last batch axis is that of heads, where the mask has them.
        key: As `query`.
        value: As `query`.
        mask: Which keys each query may attend to.
        scale: Multiplies the scores, usually 1 / sqrt(size).
        empty_row: Treatment of queries without any key; `mask.empty_rows` names these. "uniform" is always dense.
        path: "pairs" computes only allowed pairs; "auto" does where their share is below SPARSE_BELOW.

    Raises:
        ValueError: "drop", and heads differ in the queries that have no key.
    """
    is_sparse = path == "pairs" or (path == "auto" and mask.density < SPARSE_BELOW)
    if empty_row == "uniform":
        bias = mask.additive("uer", query.dtype)
        return F.scaled_dot_product_attention(query, key, value, attn_mask=bias, scale=scale)
    if is_sparse:
        result = _attend_pairs(query, key, value, mask, scale)
    else:
        result = _attend_densely(query, key, value, mask, scale)
    return result[..., _rows_with_keys(mask), :] if empty_row == "drop" else result


def _attend_densely(query: Tensor, key: Tensor, value: Tensor, mask: Mask, scale: float) -> Tensor:
    """Compute all pairs; a query without keys sees all of them here, and its result is overwritten."""
    if not len(mask.empty_rows):
        return F.scaled_dot_product_attention(query, key, value, attn_mask=mask.allowed, scale=scale)
    is_empty = ~mask.allowed.any(-1, keepdim=True)
    result = F.scaled_dot_product_attention(query, key, value, attn_mask=mask.allowed | is_empty, scale=scale)
    return result.masked_fill(is_empty, 0)


def _attend_pairs(query: Tensor, key: Tensor, value: Tensor, mask: Mask, scale: float) -> Tensor:
    """Compute allowed pairs alone, of all heads at once: scores at the pairs, their powers, sums of values by row."""
    queries, keys, values = (tensor.flatten(0, -2) for tensor in (scale * query, key, value))
    rows = mask.rows(len(queries) // query.shape[-2])
    zeros, size = query.new_zeros(len(rows.keys)), (len(queries), len(keys))
    pattern = torch.sparse_csr_tensor(rows.starts, rows.keys, zeros, size, check_invariants=False)
    scores = torch.sparse.sampled_addmm(pattern, queries, keys.mT).values()
    largest = torch.segment_reduce(scores.detach(), "max", offsets=rows.starts, axis=0)
    powers = (scores - largest.index_select(0, rows.queries)).exp()
    totals = torch.segment_reduce(powers, "sum", offsets=rows.starts, axis=0)
    sums = F.embedding_bag(rows.keys, values, rows.starts[:-1], mode="sum", per_sample_weights=powers)
    result = sums / totals.where(totals > 0, 1)[:, None]  # a query without keys has no sum, and gets zero
    return result.view(*query.shape[:-1], value.shape[-1])


def _rows_with_keys(mask: Mask) -> Tensor:
    has_keys = mask.allowed.any(-1)
    if has_keys.dim() == 2 and not bool((has_keys == has_keys[0]).all()):
        raise ValueError(
            'heads differ in the queries that have no key, so none can be dropped; use empty_row="zero"'
        )
    return has_keys if has_keys.dim() == 1 else has_keys[0]
