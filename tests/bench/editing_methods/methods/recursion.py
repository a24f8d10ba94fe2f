"""One edit at a time of a least-squares problem over the value rows, by the matrix inversion lemma.

With P an inverse covariance of keys that resist a change of the values, w its weight, and r rows A with residual R:

    G = P A^T (w I + A P A^T)^-1        V += G R        P -= G A P  where the edit's keys resist later ones

The third is recursive least squares: P / w becomes (w P^-1 + A^T A)^-1. MEMIT, MEMIT with previous keys and AlphaEdit
are this step from different P. float64; an edit costs 2 r m^2 products of m slots, not a factorisation.
"""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

from models.memory import EditRefused
from tests.bench.editing_methods.methods.method import Bank, Edit, Values

PENDING = 128  # rows by which P may be out of date; one product of many rows is cheaper than many of few


@dataclass(frozen=True, eq=False)
class State:
    """State of the recursion. offset: V - V0. P is resists - gains reaches."""

    resists: Float[Tensor, "slot slot"]
    weight: float
    offset: Float[Tensor, "slot d"]
    gains: Float[Tensor, "slot pending"]
    reaches: Float[Tensor, "pending slot"]


def begin(bank: Bank, resists: Float[Tensor, "slot slot"], weight: float) -> State:
    offset = torch.zeros_like(bank.values, dtype=torch.float64)
    return State(resists, weight, offset, resists[:, :0], resists[:0])


def step(state: State, edit: Edit, remember: bool) -> State:
    a = edit.a.double()
    reach = a @ state.resists - (a @ state.gains) @ state.reaches
    if not reach.any():
        detail = "no value may change that this question reads: no slot fires, or all are kept"
        raise EditRefused("no_reach", detail)
    system = reach @ a.T
    system.diagonal().add_(state.weight)
    gain = torch.linalg.solve(system, reach).T
    next_state = replace(state, offset=state.offset.addmm(gain, edit.target.double() - a @ state.offset))
    return _remember(next_state, gain, reach) if remember else next_state


def _remember(state: State, gain: Float[Tensor, "slot row"], reach: Float[Tensor, "row slot"]) -> State:
    gains, reaches = torch.cat([state.gains, gain], 1), torch.cat([state.reaches, reach])
    if len(reaches) < PENDING:
        return replace(state, gains=gains, reaches=reaches)
    resists = state.resists.addmm(gains, reaches, alpha=-1)
    return replace(state, resists=resists, gains=gains[:, :0], reaches=reaches[:0])


def rows(bank: Bank, state: State) -> Values:
    """Return V, rounded to the bank's precision once; V0 itself, bit for bit, if there is no offset."""
    return Values((bank.values.double() + state.offset).to(bank.values.dtype))
