"""One signature for every method that edits value rows: (bank, edits, active edits) -> rows and a report.

The fold replays the active edits, in ledger order, from the base: what is taken back was never there. A method is a
start and a step, so that a stream of edits need not be replayed at each of them.

Notation, as in models/nkb/trace.py: n [d] enters the bank's keys, a = relu(n K^T) [slot] are its slot weights,
V [slot d] its values, V0 the base's; x enters the final norm when V = V0; t is the offset wanted on top of x.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import torch
from jaxtyping import Float, Float16, Int
from torch import Tensor

from models.memory import EditRefused

NONE = -1  # no entry opens


@dataclass(frozen=True, eq=False)
class Replay:
    """Positions of reference answers as the base says them: slot weights in half precision, x and the token."""

    a: Float16[Tensor, "position slot"]
    x: Float[Tensor, "position d"]
    tokens: Int[Tensor, " position"]


@dataclass(frozen=True, eq=False)
class Bank:
    """What a method may know of the model; all of it follows from the base and a set of reference texts.

    head: output matrix with the final norm's weight and scale multiplied in; the norm adds `epsilon`.
    covariance: C0, of the slot weights at reference positions, float64. reference: n where reference answers begin.
    replay: some of those positions.
    """

    values: Float[Tensor, "slot d"]
    head: Float[Tensor, "token d"]
    epsilon: float
    covariance: Float[Tensor, "slot slot"]
    reference: Float[Tensor, "text d"]
    replay: Replay

    @cached_property
    def precision(self) -> Float[Tensor, "slot slot"]:
        """C0^-1."""
        return torch.cholesky_inverse(torch.linalg.cholesky(self.covariance))


def covariance(weights: Float[Tensor, "position slot"], ridge: float) -> Float[Tensor, "slot slot"]:
    """C0 = mean of a^T a + rho I, float64. ridge: rho as a share of the mean diagonal; a silent slot needs it."""
    wide = weights.double()
    mean = wide.T @ wide / len(wide)
    mean.diagonal().add_(ridge * mean.diagonal().mean())
    return mean


@dataclass(frozen=True, eq=False)
class Edit:
    """One edit as the trace saw it under teacher forcing; nothing in it depends on the values of the bank.

    Row j predicts token j of the answer, the end token included. target: t.
    """

    id: str
    question: str
    answer: str
    tokens: Int[Tensor, " token"]
    n: Float[Tensor, "token d"]
    a: Float[Tensor, "token slot"]
    x: Float[Tensor, "token d"]
    target: Float[Tensor, "token d"]


@dataclass(frozen=True, eq=False)
class Values:
    """Every value row of the bank, to stand in place of the base's."""

    rows: Float[Tensor, "slot d"]


@runtime_checkable
class Entries(Protocol):
    """Entries keyed on n where an answer begins; an open entry replaces the bank at each step of its answer."""

    steps: Sequence[Float[Tensor, "_ d"]]

    def select(self, n: Float[Tensor, "batch d"]) -> Int[Tensor, " batch"]:
        """Return the entry that each question opens, or NONE."""


Rows = Values | Entries


@runtime_checkable
class Method(Protocol):
    """An editing method. It owns its state; a step may change the state in place, and the old one is not used again."""

    name: str

    def start(self, bank: Bank) -> Any:
        """The state with no edits."""

    def step(self, bank: Bank, state: Any, edit: Edit) -> Any:
        """Return the state with one more edit. EditRefused leaves the state as it was."""

    def rows(self, bank: Bank, state: Any) -> Rows: ...

    def kept_bytes(self, edit: Edit) -> int:
        """Return the bytes that are kept for an edit, so that the fold can be made again."""


@dataclass(frozen=True)
class Report:
    """A report. refused: reasons by edit. rows_per_slot: rows of the edits made, for each slot of the bank."""

    applied: tuple[str, ...]
    refused: Mapping[str, str]
    rows_per_slot: float


def fold(method: Method, bank: Bank, edits: Sequence[Edit], active: Collection[str]) -> tuple[Rows, Report]:
    """Fold edits. edits: all of the ledger, in its order. active: ids of those that are not reverted."""
    state, applied, refused = method.start(bank), [], {}
    for edit in edits:
        if edit.id in active:
            try:
                state = method.step(bank, state, edit)
                applied.append(edit)
            except EditRefused as refusal:
                refused[edit.id] = refusal.code
    load = sum(len(edit.tokens) for edit in applied) / len(bank.values)
    return method.rows(bank, state), Report(tuple(edit.id for edit in applied), refused, load)


def rows_bytes(edit: Edit) -> int:
    """Return the size of n, which gives a, and the target of each row, for a method that solves for all values."""
    return edit.n.nbytes + edit.target.nbytes
