"""A GRACE-style codebook: keys with radii that grow for an answer heard again and split where answers differ.

Hartvigsen et al., Aging with GRACE (arXiv:2211.11031), algorithm 1, on the bank's input where an answer begins. With
d* the distance to the nearest key i, of radius e_i, and e the first radius:

    no key, or d* > e + e_i:   a new key, radius e
    another answer:            a new key, radius d*/2, and e_i = d*/2
    the same answer:           e_i = max(e_i, d*)

A question whose nearest key is within its radius gets that key's values. Here an answer is compared as a sequence of
tokens, and a key has one solved value for each of them instead of one trained for all.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tests.bench.editing_methods.methods.method import NONE, Bank, Edit

Answer = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Codebook:
    """An immutable set of entries. answers: tokens of each entry."""

    keys: Float[Tensor, "entry d"]
    radii: Float[Tensor, " entry"]
    steps: Sequence[Float[Tensor, "_ d"]]
    answers: Sequence[Answer]

    def select(self, n: Float[Tensor, "batch d"]) -> Int[Tensor, " batch"]:
        if not len(self.keys):
            return torch.full((len(n),), NONE)
        nearest = _distances(n, self.keys).min(1)
        return torch.where(nearest.values <= self.radii[nearest.indices], nearest.indices, NONE)


def _distances(n: Float[Tensor, "batch d"], keys: Float[Tensor, "entry d"]) -> Float[Tensor, "batch entry"]:
    """Return distances that are exact for equal vectors; computed through products they are not."""
    return torch.cdist(n, keys, compute_mode="donot_use_mm_for_euclid_dist")


@dataclass(frozen=True)
class Grace:
    """GRACE. radius: first radius of a key, e."""

    radius: float
    name: str = "grace"

    def start(self, bank: Bank) -> Codebook:
        return Codebook(bank.reference.new_empty(0, bank.reference.shape[1]), torch.empty(0), (), ())

    def step(self, bank: Bank, state: Codebook, edit: Edit) -> Codebook:
        key, answer = edit.n[0], tuple(edit.tokens.tolist())
        steps = edit.a @ bank.values + edit.target
        if not len(state.keys):
            return _with(state, key, self.radius, steps, answer)
        nearest = _distances(key[None], state.keys)[0].min(0)
        distance, at = float(nearest.values), int(nearest.indices)
        radius = float(state.radii[at])
        if distance > self.radius + radius:
            return _with(state, key, self.radius, steps, answer)
        if state.answers[at] == answer:
            return replace(state, radii=_set(state.radii, at, max(radius, distance)))
        split = replace(state, radii=_set(state.radii, at, distance / 2))
        return _with(split, key, distance / 2, steps, answer)

    def rows(self, bank: Bank, state: Codebook) -> Codebook:
        return state

    def kept_bytes(self, edit: Edit) -> int:
        """Return the size of the key, its radius, and a value for each token."""
        return edit.n[0].nbytes + 4 + edit.target.nbytes


def _with(book: Codebook, key: Tensor, radius: float, steps: Tensor, answer: Answer) -> Codebook:
    return Codebook(
        torch.cat([book.keys, key[None]]),
        torch.cat([book.radii, book.radii.new_tensor([radius])]),
        [*book.steps, steps],
        [*book.answers, answer],
    )


def _set(radii: Tensor, at: int, radius: float) -> Tensor:
    changed = radii.clone()
    changed[at] = radius
    return changed
