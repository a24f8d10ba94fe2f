"""AlphaEdit: value changes kept to the directions in which preserved keys hardly vary.

Fang et al., AlphaEdit (arXiv:2410.02355), equation 14, as their code has it. U: eigenvectors of C0 with an eigenvalue
below theta, Q = U U^T:

    (Q (A^T A + Cp) + c I) dV = Q A^T R,   then Cp += A^T A

dV lies in the span of U, where this is recursive least squares that starts from P = Q with weight c. It is only as
good as that span is wide.
"""

from dataclasses import dataclass
from functools import lru_cache

import torch
from jaxtyping import Float
from torch import Tensor

from tests.bench.editing_methods.methods import recursion
from tests.bench.editing_methods.methods.method import Bank, Edit, Values, rows_bytes


@dataclass(frozen=True)
class AlphaEdit:
    """AlphaEdit. theta: bound below which an eigenvalue of C0 counts as zero. ridge: c."""

    theta: float
    ridge: float
    name: str = "alphaedit"

    def start(self, bank: Bank) -> recursion.State:
        return recursion.begin(bank, null_projection(bank, self.theta), self.ridge)

    def step(self, bank: Bank, state: recursion.State, edit: Edit) -> recursion.State:
        return recursion.step(state, edit, remember=True)

    def rows(self, bank: Bank, state: recursion.State) -> Values:
        return recursion.rows(bank, state)

    def kept_bytes(self, edit: Edit) -> int:
        return rows_bytes(edit)


@lru_cache(maxsize=1)
def null_projection(bank: Bank, theta: float) -> Float[Tensor, "slot slot"]:
    """Q."""
    eigenvalues, vectors = _spectrum(bank)
    null = vectors[:, eigenvalues < theta]
    return null @ null.T


@lru_cache(maxsize=1)
def _spectrum(bank: Bank) -> tuple[Tensor, Tensor]:
    values, vectors = torch.linalg.eigh(bank.covariance)
    return values, vectors
