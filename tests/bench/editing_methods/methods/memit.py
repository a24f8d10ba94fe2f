"""MEMIT on one bank, and MEMIT with previous keys.

Meng et al., Mass-Editing Memory in a Transformer (arXiv:2210.07229), equation 14, one edit a batch:

    dV = (w C0 + A^T A)^-1 A^T R          and, with previous keys, (w C0 + Cp + A^T A)^-1 A^T R, then Cp += A^T A

R is the target less what the values already add. MEMIT as published forgets the keys of earlier edits, and so
overwrites them; Cp is how AlphaEdit's authors (arXiv:2410.02355) repair that. One bank takes all of the residual.
"""

from dataclasses import dataclass

from tests.bench.editing_methods.methods import recursion
from tests.bench.editing_methods.methods.method import Bank, Edit, Values, rows_bytes


@dataclass(frozen=True)
class Memit:
    """MEMIT. weight: w, the weight of the preserved keys."""

    name: str
    weight: float
    remember: bool

    def start(self, bank: Bank) -> recursion.State:
        return recursion.begin(bank, bank.precision, self.weight)

    def step(self, bank: Bank, state: recursion.State, edit: Edit) -> recursion.State:
        return recursion.step(state, edit, self.remember)

    def rows(self, bank: Bank, state: recursion.State) -> Values:
        return recursion.rows(bank, state)

    def kept_bytes(self, edit: Edit) -> int:
        return rows_bytes(edit)
