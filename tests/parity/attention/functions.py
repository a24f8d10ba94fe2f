"""What rules with values compute, and mistakes of programs with values."""

from collections.abc import Callable, Sequence
from functools import reduce

import torch
from jaxtyping import Float, Int
from torch import Tensor

from models.rules.special import NAMES
from tests.parity.rules.syntax import Literal


def is_valued(literal: Literal) -> bool:
    """Return whether the literal's value enters the combination of its rule."""
    return not literal.is_hidden and literal.relation not in NAMES


NORM_EPSILON = 1e-10  # added to the biased variance, as PyNeuraLogic does

Values = Float[Tensor, "grounding _ _"]


def multiply(first: Float[Tensor, "*grounding _ _"], second: Values) -> Values:
    """Multiply matrices; a matrix of one entry scales the other."""
    is_scale = first.shape[-2:].numel() == 1 or second.shape[-2:].numel() == 1
    return first * second if is_scale else first @ second


COMBINATIONS: dict[str, Callable[[Sequence[Tensor]], Tensor]] = {
    "sum": lambda values: reduce(torch.add, values),
    "product": lambda values: reduce(multiply, values),
    "elproduct": lambda values: reduce(torch.mul, values),
    "concat": lambda values: torch.cat(list(values), 1),
}


def normalize(values: Values) -> Values:
    """Return (x - mean) / sqrt(variance + NORM_EPSILON) over the entries of each value, without gain and bias."""
    variance, mean = torch.var_mean(values, (1, 2), correction=0, keepdim=True)
    return (values - mean) / (variance + NORM_EPSILON).sqrt()


TRANSFORMATIONS: dict[str, Callable[..., Tensor]] = {
    "identity": lambda values: values,
    "relu": torch.relu,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "exp": torch.exp,
    "log": torch.log,
    "sqrt": torch.sqrt,
    "inverse": torch.reciprocal,
    "norm": normalize,
    "softmax": lambda values: values.flatten(1).softmax(1).view_as(values),
    "transpose": lambda values: values.mT,
    "slice": lambda values, first, end: values[:, first:end],
}


def softmax(scores: Values, row: Int[Tensor, " grounding"], n_rows: int) -> Values:
    """Normalise the scores of each row: exp(s) over the sum of exp(s) of the groundings of that row."""
    index = row[:, None, None].expand_as(scores)
    shape = (n_rows, *scores.shape[1:])
    largest = scores.new_full(shape, -torch.inf).scatter_reduce(0, index, scores.detach(), "amax")
    powers = (scores - largest[row]).exp()
    return powers / scores.new_zeros(shape).index_add(0, row, powers)[row]


def aggregate(
    name: str, values: Values, head: Int[Tensor, " grounding"], n_heads: int
) -> Float[Tensor, "head _ _"]:
    """Aggregate the values of the groundings that share a head.

    Args:
        name: Any aggregation but softmax, whose values are normalised before and summed here.
        values: In an order that is that of the groundings of each head, which `concat` keeps.
        head: The number of each grounding's head.
        n_heads: How many heads there are.

    Raises:
        ValueError: `concat`, and some head has more groundings than another.
    """
    counts = torch.bincount(head, minlength=n_heads)
    if name == "concat" and n_heads:
        return _concatenate(values, head, counts)
    if name == "count":
        return counts[:, None, None].to(values.dtype)
    zeros = values.new_zeros(n_heads, *values.shape[1:])
    if name in ("max", "min"):
        index = head[:, None, None].expand_as(values)
        return zeros.scatter_reduce(0, index, values, f"a{name}", include_self=False)
    total = zeros.index_add(0, head, values)
    return total / counts[:, None, None] if name == "avg" else total


def _concatenate(values: Tensor, head: Tensor, counts: Tensor) -> Tensor:
    if not bool((counts == counts[0]).all()):
        numbers = sorted(set(counts.tolist()))
        raise ValueError(f"concat needs as many groundings of every head, not {numbers}")
    return values[head.argsort(stable=True)].reshape(len(counts), -1, values.shape[2])
