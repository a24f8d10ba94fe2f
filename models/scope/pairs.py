"""Which questions ask for the same fact, among very many: all pairs for which a gate opens, and no other.

Products run where the keys are; the few pairs that open lie on the CPU.
"""

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from models.scope.keys import UNKNOWN, QuestionKeys
from models.scope.literals import covers_names
from models.scope.network import FIRST, Scope

CHUNK = 256  # questions compared with the whole table in one product
ROUNDING = 1e-4  # of a sum of three cosines, computed in one product or each by itself


@dataclass(frozen=True)
class Pairs:
    """Question `question` of one set asks for the fact of gate `gate` of another, with these log-odds (> 0)."""

    question: Int[Tensor, " pair"]
    gate: Int[Tensor, " pair"]
    logit: Float[Tensor, " pair"]

    def __len__(self) -> int:
        return len(self.question)

    @staticmethod
    def empty() -> "Pairs":
        nowhere = torch.empty(0, dtype=torch.long)
        return Pairs(nowhere, nowhere, torch.empty(0))

    @staticmethod
    def concatenate(parts: "Sequence[Pairs]") -> "Pairs":
        return Pairs(
            torch.cat([part.question for part in parts]),
            torch.cat([part.gate for part in parts]),
            torch.cat([part.logit for part in parts]),
        )

    def select(self, mask: Bool[Tensor, " pair"]) -> "Pairs":
        return Pairs(self.question[mask], self.gate[mask], self.logit[mask])


def find_pairs(scope: Scope, questions: QuestionKeys, gates: QuestionKeys) -> Pairs:
    """All pairs above zero log-odds, without those that name different things however alike they read."""
    parts = (_keep_covered(pairs, questions, gates) for pairs in _open_pairs(scope, questions, gates))
    return Pairs.concatenate([Pairs.empty(), *parts])


def _keep_covered(pairs: Pairs, questions: QuestionKeys, gates: QuestionKeys) -> Pairs:
    """Those in which the question asks for nothing by a name that the gate has not."""
    return pairs.select(covers_names(gates.words[pairs.gate], questions.words[pairs.question]).cpu())


def _open_pairs(scope: Scope, questions: QuestionKeys, gates: QuestionKeys) -> Iterator[Pairs]:
    """By what is symmetric: readings, numbers, and subjects of training, two of which are never one."""
    for start in range(0, len(questions), CHUNK):
        chunk = questions.select(slice(start, start + CHUNK))
        near = chunk.keys[:, :FIRST] @ gates.keys[:, :FIRST].T >= scope.open_bound - ROUNDING
        question, gate = near.nonzero(as_tuple=True)
        if not len(question):
            continue
        agree = chunk.numbers[question] == gates.numbers[gate]
        about, of = chunk.subjects[question], gates.subjects[gate]
        agree &= (about == of) | (about == UNKNOWN) | (of == UNKNOWN)
        question, gate = question[agree], gate[agree]
        logit = scope.logit(scope.cosines_of_pairs(chunk.keys[question], gates.keys[gate]))
        opens = logit > 0
        yield Pairs((question[opens] + start).cpu(), gate[opens].cpu(), logit[opens].cpu())


class PairCache:
    """Pairs among the rows of a table that only grows; each row is compared once, when first needed. Thread-safe."""

    def __init__(self, scope: Scope) -> None:
        self._scope, self._lock = scope, threading.Lock()
        self._pairs, self._n_rows = Pairs.empty(), 0

    @torch.inference_mode()
    def pairs(self, table: QuestionKeys) -> Pairs:
        """The pairs among these rows, both ways round.

        Args:
            table: all rows as they stand now, or as they once stood.
        """
        with self._lock:
            parts = [self._pairs]
            for start in range(self._n_rows, len(table), CHUNK):
                end = min(start + CHUNK, len(table))
                new_rows, all_rows = table.select(slice(start, end)), table.select(slice(0, end))
                for chunk in _open_pairs(self._scope, new_rows, all_rows):
                    forward = Pairs(chunk.question + start, chunk.gate, chunk.logit)
                    old = forward.select(forward.gate < start)
                    backward = Pairs(old.gate, old.question, old.logit)
                    parts += [_keep_covered(pairs, table, table) for pairs in (forward, backward)]
            self._pairs, self._n_rows = Pairs.concatenate(parts), max(self._n_rows, len(table))
            pairs, n_rows = self._pairs, self._n_rows
        if n_rows == len(table):
            return pairs
        return pairs.select((pairs.question < len(table)) & (pairs.gate < len(table)))


def best_gates(pairs: Pairs, count: int) -> tuple[Float[Tensor, " question"], Int[Tensor, " question"]]:
    """Log-odds and gate of the best pair of each of `count` questions; minus infinity and -1 without any.

    The first gate of equals, whatever the order of the pairs.
    """
    logit = torch.full((count,), float("-inf")).scatter_reduce_(0, pairs.question, pairs.logit, "amax")
    first = pairs.select(pairs.logit == logit[pairs.question])
    nowhere = torch.iinfo(torch.long).max
    gate = torch.full((count,), nowhere).scatter_reduce_(0, first.question, first.gate, "amin")
    return logit, gate.masked_fill_(gate == nowhere, -1)
