"""Attention by rules against attention by hand, and over allowed pairs alone against all pairs."""

from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import Tensor

from models.attention.attend import attend
from models.attention.mask import MaskCache, compile_mask
from models.attention.pairs import Shape
from models.attention.rules.facts import Facts, Relation
from tests.bench.table import Row
from tests.bench.timing import measure_interleaved

HEADS, SIZE, SCALE = 12, 32, 32**-0.5  # MiniLM's
ROUNDS = 40
WINDOW = 63


def rows() -> Iterator[Row]:
    torch.manual_seed(0)
    with torch.inference_mode():
        yield _against_hand_written(512)
        yield _against_dense(1024, 0.05)


def _against_hand_written(length: int) -> Row:
    """Compare masks by rules, looked up in every step, with a hand-written mask that is made before."""
    query, key, value = _inputs(length)
    lag = torch.arange(length)[:, None] - torch.arange(length)
    by_hand = (lag >= 0) & (lag <= WINDOW)
    cache, facts, text = MaskCache(8), Facts(), f"attend(I,J) <= window({WINDOW})"
    assert cache.compile(text, Shape.square(length), facts).allowed.equal(by_hand)

    def run_rule() -> Tensor:
        mask = cache.compile(text, Shape.square(length), facts)
        return attend(query, key, value, mask, SCALE, path="dense")

    def run_by_hand() -> Tensor:
        return F.scaled_dot_product_attention(query, key, value, attn_mask=by_hand, scale=SCALE)

    seconds = measure_interleaved({"rule": run_rule, "hand": run_by_hand}, ROUNDS)
    note = f"{1e3 * seconds['rule']:.2f} ms against {1e3 * seconds['hand']:.2f} ms, {HEADS} heads"
    return Row(
        f"attention with a cached rule, {length} tokens", seconds["rule"] / seconds["hand"], "<= 1.1", note
    )


def _against_dense(length: int, density: float) -> Row:
    query, key, value = _inputs(length)
    facts = Facts({"vis": Relation((torch.rand(length, length) < density).nonzero())})
    mask = compile_mask("attend(I,J) <= hidden.vis(I,J)", Shape.square(length), facts)
    dense = attend(query, key, value, mask, SCALE, path="dense")
    pairs = attend(query, key, value, mask, SCALE, path="pairs")
    torch.testing.assert_close(pairs, dense, atol=2e-6, rtol=0)  # each is within 1e-6 of float64
    seconds = measure_interleaved(
        {
            "dense": lambda: attend(query, key, value, mask, SCALE, path="dense"),
            "pairs": lambda: attend(query, key, value, mask, SCALE, path="pairs"),
        },
        ROUNDS,
    )
    milliseconds = f"{1e3 * seconds['pairs']:.1f} ms against {1e3 * seconds['dense']:.1f} ms"
    note = f"{milliseconds} of torch's fused kernel, {HEADS} heads"
    name = f"pairs alone, {100 * density:.0f} % of {length} tokens, times as fast"
    return Row(name, seconds["dense"] / seconds["pairs"], ">= 3", note)


def _inputs(length: int) -> tuple[Tensor, Tensor, Tensor]:
    query, key, value = torch.randn(3, 1, HEADS, length, SIZE)
    return query, key, value
