"""One edit at a time of a least-squares problem over the value rows, by the matrix inversion lemma.

With P the inverse of what resists a change of the values (a covariance of keys), and r rows A with residual R:

    G = P A^T (I + A P A^T)^-1        V += G R        P -= G A P  where the edit's keys resist later ones

The third is recursive least squares: P becomes (P^-1 + A^T A)^-1. MEMIT, MEMIT with previous keys and AlphaEdit are
this step from different P. float64; an edit costs 2 r m^2 products of m slots, not a factorisation.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from models.editors.method import Bank, Edit, Values
from models.system import EditRefused


@dataclass(eq=False)
class State:
    """resists: P. offset: V - V0."""

    resists: Float[Tensor, "slot slot"]
    offset: Float[Tensor, "slot d"]


def begin(bank: Bank, resists: Float[Tensor, "slot slot"]) -> State:
    return State(resists, torch.zeros_like(bank.values, dtype=torch.float64))


def step(state: State, edit: Edit, remember: bool) -> State:
    """In place. Without `remember`, P is left alone and may be shared."""
    a = edit.a.double()
    residual = edit.target.double() - a @ state.offset
    reach = a @ state.resists
    if not reach.any():
        raise EditRefused(
            "no_reach", "no value may change that this question reads: no slot fires, or all are kept"
        )
    system = reach @ a.T
    system.diagonal().add_(1)
    gain = torch.linalg.solve(system, reach).T
    state.offset.addmm_(gain, residual)
    if remember:
        state.resists.addmm_(gain, reach, alpha=-1)
    return state


def rows(bank: Bank, state: State) -> Values:
    """V, rounded to the bank's precision once; V0 itself, bit for bit, when nothing was added."""
    return Values((bank.values.double() + state.offset).to(bank.values.dtype))
