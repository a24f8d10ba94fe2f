"""The paper's value surgery: move one value row so that an answer goes on with another token.

Dai et al., Neural Knowledge Bank (arXiv:2208.00399), equation 12. With a the slot weights at a step:

    t = argmax a          V[t] += lambda (E[new] - E[old])

E are raw embedding rows. The paper takes lambda = 0.07 and the authors' script 0.09, whatever the answer. The smallest
lambda that suffices is our addition: the final RMS norm divides all logits by one positive number, so "new beats j by
a margin" is a concave condition on lambda whose bounds are roots of a quadratic.

The paper steers the first token alone. Here each position is moved whose token the base would not say after the tokens
before it. Moves of one edit see each other, never those of others.

An answer rests on surgery if the base says something else: a moved slot that fires proves nothing. It then rests on
the edits that moved a slot which fires most at one of its tokens, for that slot is the one equation 12 chooses; if
none of those was moved, it rests on all edits whose slots fired.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from models.kit.decoded import DecodedAnswer
from models.memory import EditRefused
from models.nkb.overlay import Place
from models.nkb.reader import END, Read, Reader
from models.nkb.trace import Trace, trace

MARGIN = 0.5  # logits by which each token must lead
ROUNDS = 4  # passes over the answer, as a later move may disturb an earlier token
LARGEST = 20.0  # largest lambda: beyond it a row is noise to every other question
NONE = -1.0  # a root that does not exist: no lambda is negative
EditsByPlace = Mapping[Place, tuple[str, ...]]


@dataclass(frozen=True)
class EditTarget:
    """The last bank at one decode step."""

    weights: Float[Tensor, " slot"]
    x: Float[Tensor, " d"]  # input of the final norm, bank included


@dataclass(frozen=True)
class Head:
    """The map from the final norm's input to logits: rows @ x / sqrt(mean(x^2) + epsilon)."""

    rows: Float[Tensor, "token d"]  # output matrix with the norm's weight and T5's scale multiplied in
    embedding: Float[Tensor, "token d"]  # raw embedding rows E
    epsilon: float


@dataclass(frozen=True)
class Surgery:
    """A change of the stored value row of `slot` by `delta`; its effect is proportional to the slot's `weight` w'_t."""

    slot: int
    weight: float
    scale: float
    delta: Float[Tensor, " d"]


def operate(
    site: EditTarget,
    head: Head,
    new: int,
    old: int,
    *,
    scale: float | None,
    margin: float,
    limit: float = math.inf,
) -> Surgery:
    """Compute the change of a row that makes `new` the next token instead of `old`.

    Args:
        scale: Lambda; None takes the smallest up to `limit` with which `new` leads all others by `margin` logits.

    EditRefused: `no_change`, `no_active_slot`, `bad_lambda`, `unreachable`.
    """
    if new == old:
        raise EditRefused("no_change", f"the answer already begins with token {new}: nothing to edit")
    slot = choose_slot(site.weights)
    weight, unit = float(site.weights[slot]), head.embedding[new] - head.embedding[old]
    if scale is None:
        scale = smallest_lambda(site.x, weight * unit, head, new, margin, limit)
    elif not (math.isfinite(scale) and scale > 0):
        raise EditRefused("bad_lambda", f"lambda is a finite number above 0, not {scale}")
    return Surgery(slot, weight, scale, scale * unit)


def choose_slot(weights: Float[Tensor, " slot"]) -> int:
    """Choose the slot that fires most, the lowest of equals. EditRefused: `no_active_slot`: no slot fires."""
    top = weights.max()
    if not top > 0:
        raise EditRefused(
            "no_active_slot", "no slot of the bank fires on this question: surgery cannot act here"
        )
    return int((weights == top).nonzero()[0])


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


def apply_value_edit(
    reader: Reader, read: Read, tokens: list[int], scale: float | None = None
) -> list[Surgery]:
    """Compute the moves with which the base gives an answer.

    Args:
        scale: Lambda of each move, in one pass as in the paper; the report then says whether the base gives the answer.
            None takes the smallest with which each token leads.

    EditRefused: `no_bank`, `unreachable`, `no_change`, or a code of `operate`.
    """
    base = trace(reader.decoder, read.states, read.mask, torch.tensor([tokens], device=read.states.device))
    if base.a.shape[-1] == 0:
        raise EditRefused("no_bank", "the last decoder layer has no bank: use method 'gated'")
    head = Head(reader.decoder.head_weight, reader.decoder.embedding, reader.decoder.epsilon)
    moves: list[Surgery] = []

    def best_token(step: int) -> int:
        return int((head.rows @ _norm_input(reader, base, step, moves)).argmax())

    for _ in range(ROUNDS):
        for step, token in enumerate(tokens):
            best = best_token(step)
            if best != token:
                site = EditTarget(base.a[0, step], _norm_input(reader, base, step, moves))
                moves.append(operate(site, head, token, best, scale=scale, margin=MARGIN, limit=LARGEST))
        if scale is not None and moves:
            return moves
        if [best_token(step) for step in range(len(tokens))] == tokens:
            if moves:
                return moves
            raise EditRefused(
                "no_change", f"the base already gives this answer ({len(tokens)} tokens): nothing to move"
            )
    raise EditRefused("unreachable", "moving single rows does not bring the whole answer out: use 'gated'")


def _norm_input(reader: Reader, base: Trace, step: int, moves: list[Surgery]) -> Float[Tensor, " d"]:
    """Return the input of the final norm at one position, with the moves so far."""
    x = (base.s + base.ex)[0, step].clone()
    bank = reader.decoder.layers[-1].feed_forward.slots
    assert bank is not None
    for move in moves:
        x += base.a[0, step, move.slot] * bank.acting(move.delta[None])[0]
    return x


def rests_on(
    reader: Reader,
    read: Read,
    answers: Mapping[int, DecodedAnswer],
    edits: Mapping[int, EditsByPlace],
    max_tokens: int,
) -> dict[int, tuple[str, ...]]:
    """Find the edits that answers rest on.

    Returns:
        Ids of edits by row; rows that rest on no edit are left out.
    """
    if not edits:
        return {}
    rows = list(edits)
    tokens = [torch.tensor([*answers[row].tokens, END], device=read.states.device) for row in rows]
    targets = pad_sequence(tokens, batch_first=True, padding_value=END)
    weights = trace(reader.decoder, read.states[rows], read.mask[rows], targets).a
    layer = len(reader.decoder.layers) - 1
    candidates: dict[int, tuple[str, ...]] = {}
    for row, own_weights, own_tokens in zip(rows, weights, tokens, strict=True):
        slot_weights = own_weights[: len(own_tokens)]
        strongest_slots = dict.fromkeys(slot_weights.argmax(-1).tolist())
        leading = [edit for slot in strongest_slots for edit in edits[row].get((layer, slot), ())]
        if not leading:
            fires = (slot_weights.amax(0) > 0).tolist()
            leading = [edit for (_, slot), owners in edits[row].items() if fires[slot] for edit in owners]
        if leading:
            candidates[row] = tuple(dict.fromkeys(leading))
    if not candidates:
        return {}
    rows = list(candidates)
    base = reader.decoder.generate(read.states[rows], read.mask[rows], max_tokens=max_tokens)
    return {
        row: candidates[row]
        for row, answer in zip(rows, base, strict=True)
        if answer.tokens != answers[row].tokens
    }
