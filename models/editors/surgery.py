"""The paper's value surgery: move one value row so that the answer begins with another token.

Dai et al., Neural Knowledge Bank (arXiv:2208.00399), equation 12. With a the slot weights at the first step:

    t = argmax a          V[t] += lambda (E[new] - E[old])

E are raw embedding rows. Only the first token of the answer is steered. The paper takes lambda = 0.07 and
the authors' script 0.09, whatever the answer. The smallest lambda that suffices is our addition: the
final RMS norm divides all logits by one positive number, so "new beats j by a margin" is a concave condition
on lambda whose bounds are roots of a quadratic.
"""

import math
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from models.memory import EditRefused

NONE = -1.0  # a root that does not exist: no lambda is negative
AdapterEdit = Literal["least_squares", "raw"]


@dataclass(frozen=True)
class Site:
    """The beginning of an answer: the last bank at the first decode step.

    Attributes:
        weights: Slot weights a.
        x: Input of the final norm, bank included.
        out: Weight of the adapter's output map, if there is an adapter.
    """

    weights: Float[Tensor, " slot"]
    x: Float[Tensor, " d"]
    out: Float[Tensor, "d d"] | None = None


@dataclass(frozen=True)
class Head:
    """The map from the final norm's input to logits: rows @ x / sqrt(mean(x^2) + epsilon).

    Attributes:
        rows: Output matrix with the norm's weight and T5's scale multiplied in.
        epsilon: Constant of the norm.
        embedding: Raw embedding rows E.
    """

    rows: Float[Tensor, "token d"]
    embedding: Float[Tensor, "token d"]
    epsilon: float


@dataclass(frozen=True)
class Surgery:
    """A change of the stored value row of `slot` by `delta`; its effect is proportional to the slot's `weight` w'_t."""

    slot: int
    weight: float
    scale: float
    delta: Float[Tensor, " d"]


def operate(
    site: Site,
    head: Head,
    new: int,
    old: int,
    *,
    scale: float | None,
    margin: float,
    limit: float = math.inf,
    slot: int | None = None,
    adapter_edit: AdapterEdit = "least_squares",
) -> Surgery:
    """Compute the change of a row that makes `new` the first token instead of `old`.

    Args:
        site: Where the answer begins.
        head: How the final norm's input becomes logits.
        new: Token that the answer has to begin with.
        old: Token that it begins with.
        scale: Lambda; None takes the smallest with which `new` leads every other token by `margin` logits.
        margin: Logits by which `new` has to lead.
        limit: Largest lambda to try.
        slot: Slot to change; None takes the slot with the largest weight.
        adapter_edit: How the row is solved for behind an adapter; see `unit_delta`.

    Raises:
        EditRefused: `no_change`, `no_active_slot`, `bad_slot`, `bad_lambda`, `unreachable`.
    """
    if new == old:
        raise EditRefused("no_change", f"the answer already begins with token {new}: nothing to edit")
    if slot is not None and not 0 <= slot < len(site.weights):
        raise EditRefused(
            "bad_slot", f"slot {slot} does not exist, the bank has 0 to {len(site.weights) - 1}"
        )
    if slot is not None and not site.weights[slot] > 0:
        raise EditRefused(
            "no_active_slot", f"slot {slot} does not fire on this question: changing it does nothing"
        )
    index = choose_slot(site.weights) if slot is None else slot
    weight = float(site.weights[index])
    unit = unit_delta(head.embedding[new] - head.embedding[old], site.out, adapter_edit)
    if scale is None:
        effect = weight * (unit if site.out is None else site.out @ unit)
        scale = smallest_lambda(site.x, effect, head, new, margin, limit)
    elif not (math.isfinite(scale) and scale > 0):
        raise EditRefused("bad_lambda", f"lambda is a finite number above 0, not {scale}")
    return Surgery(index, weight, scale, scale * unit)


def choose_slot(weights: Float[Tensor, " slot"], digits: int | None = None) -> int:
    """Choose the slot that fires most, the lowest of equals.

    Args:
        weights: Slot weights.
        digits: Number of significant digits to round to first; 5 finds the slot that the authors' script finds.

    Raises:
        EditRefused: `no_active_slot`: no slot fires.
    """
    if digits is not None:
        weights = weights.new_tensor([float(f"{value:.{digits - 1}e}") for value in weights.tolist()])
    top = weights.max()
    if not top > 0:
        raise EditRefused(
            "no_active_slot", "no slot of the bank fires on this question: surgery cannot act here"
        )
    return int((weights == top).nonzero()[0])


def unit_delta(
    direction: Float[Tensor, " d"], out: Float[Tensor, "d d"] | None, adapter_edit: AdapterEdit
) -> Float[Tensor, " d"]:
    """Compute the change of a stored row for each unit of lambda.

    A value passes through the adapter's output map, so the row is solved for: out @ delta = direction, in the
    least-squares sense. `raw` adds the direction itself, as the authors' script does.
    """
    if out is None or adapter_edit == "raw":
        return direction
    system, target = out.double().cpu(), direction.double().cpu()  # gelsd runs on the CPU alone
    solution = torch.linalg.lstsq(system, target[:, None], driver="gelsd").solution
    delta: Tensor = solution[:, 0].to(direction)
    return delta


def smallest_lambda(
    x: Float[Tensor, " d"],
    effect: Float[Tensor, " d"],
    head: Head,
    new: int,
    margin: float,
    limit: float = math.inf,
) -> float:
    """Find the smallest lambda >= 0 with which `new` leads every other token by `margin`.

    For competitor j, p + lambda q >= margin r(lambda), with p = (rows[new] - rows[j]) x, q the same of
    `effect`, and r the norm's root mean square. r is convex, so each condition holds on one interval.

    Raises:
        EditRefused: `unreachable`: no lambda up to `limit` lies in all intervals.
    """
    x, effect, rows = x.double(), effect.double(), head.rows.double()
    ahead = rows[new] - torch.cat([rows[:new], rows[new + 1 :]])
    mean_square = torch.stack([effect @ effect, 2 * (x @ effect), x @ x]) / len(x)
    mean_square[2] += head.epsilon
    low, high = _interval(ahead @ x, ahead @ effect, margin, mean_square)
    first, last = float(low.max()), min(float(high.min()), limit)
    if first > last or first == math.inf:
        best = "at any lambda" if limit == math.inf else f"with lambda up to {limit:g}"
        raise EditRefused(
            "unreachable",
            f"moving this one row cannot make token {new} lead by {margin:g} logits {best}; try gated slots",
        )
    return first


def _interval(p: Tensor, q: Tensor, margin: float, square: Tensor) -> tuple[Tensor, Tensor]:
    """Return bounds of { lambda >= 0: p + lambda q >= margin sqrt(square(lambda)) } by competitor; inf if empty."""
    if margin == 0:
        roots = torch.stack([-p / q, torch.full_like(p, NONE)])
    else:
        a, b, c = (torch.stack([q * q, 2 * p * q, p * p], 1) - margin**2 * square).unbind(1)
        discriminant = b * b - 4 * a * c
        half = -0.5 * (b + torch.where(b < 0, -1.0, 1.0) * discriminant.clamp(min=0).sqrt())
        roots = torch.stack([half / a, c / half])  # without cancellation
        roots = torch.where((discriminant >= 0) & roots.isfinite(), roots, NONE)
        roots = torch.where(p + roots * q >= 0, roots, NONE)  # the others solve p + lambda q = -margin r
    near, far = torch.where(roots > 0, roots, math.inf).sort(0).values
    holds_now = p >= margin * square[2].sqrt()
    return torch.where(holds_now, 0.0, near), torch.where(holds_now, near, far)
