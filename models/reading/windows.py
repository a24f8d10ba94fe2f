"""Windows over a text."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor

OFFSET = 1  # place of a window's first token among its logits, behind that of no answer


class Window(NamedTuple):
    """Tokens `first` to `last` - 1 of a document."""

    first: int
    last: int


def cover(n_tokens: int, size: int, stride: int) -> list[Window]:
    """Return windows of one size, a stride apart, until the last token is covered."""
    firsts = range(0, max(1, n_tokens - size + stride), stride)
    return [Window(first, min(first + size, n_tokens)) for first in firsts]


def owners(windows: Sequence[Window], n_tokens: int) -> Int[Tensor, " token"]:
    """Return for each token the window with most of the text around it.

    A token of two windows has the more context where it stands further from the edge (the rule of BERT's span reader).
    """
    owner = torch.zeros(n_tokens, dtype=torch.long)
    largest = torch.full((n_tokens,), -1.0)
    for number, (first, last) in enumerate(windows):
        places = torch.arange(last - first)
        context = torch.minimum(places, places.flip(0)) + 0.01 * (last - first)
        is_better = context > largest[first:last]
        owner[first:last][is_better] = number
        largest[first:last] = torch.maximum(largest[first:last], context)
    return owner
