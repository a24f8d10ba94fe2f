"""Which questions ask for the same fact, among very many: all pairs between which a gate opens, and no other."""

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from models.nkb.familiar import UNKNOWN
from models.nkb.names import MOST_WORDS, covers
from models.nkb.scope import FIRST, KEY, Scope

AT_A_TIME = 256  # questions compared with the whole table in one product
ROUNDING = 1e-4  # of a sum of three cosines, computed in one product or each by itself


@dataclass(frozen=True)
class Keyed:
    """Questions as gates read them.

    numbers: what has to agree to the letter (numbers.py). subjects: which taught one each is about, or UNKNOWN
    (familiar.py). words: which of them are names (names.py).
    """

    keys: Float[Tensor, "row key"]
    numbers: Int[Tensor, " row"]
    subjects: Int[Tensor, " row"]
    words: Int[Tensor, "row word"]

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def columns(self) -> tuple[Tensor, ...]:
        return self.keys, self.numbers, self.subjects, self.words

    def select(self, rows: Tensor | slice) -> "Keyed":
        return Keyed(*(column[rows] for column in self.columns))

    def split(self, counts: Sequence[int]) -> list["Keyed"]:
        columns = (torch.split(column, list(counts)) for column in self.columns)
        return [Keyed(*some) for some in zip(*columns, strict=True)]

    def row(self, place: int) -> "Keyed":
        """A copy of one row, which holds on to none of the others."""
        return Keyed(*(column[place : place + 1].clone() for column in self.columns))

    @staticmethod
    def room(rows: int) -> "Keyed":
        """For so many rows, to be written."""
        numbers, subjects = torch.zeros(2, rows, dtype=torch.int64)
        return Keyed(
            torch.zeros(rows, KEY), numbers, subjects, torch.zeros(rows, MOST_WORDS, dtype=torch.int32)
        )

    def write(self, start: int, others: "Keyed") -> None:
        for column, other in zip(self.columns, others.columns, strict=True):
            column[start : start + len(other)] = other

    @staticmethod
    def joined(parts: Sequence["Keyed"]) -> "Keyed":
        return Keyed(*(torch.cat(columns) for columns in zip(*(part.columns for part in parts), strict=True)))


@dataclass(frozen=True)
class Pairs:
    """Row `asked` of one set and row `found` of another ask for the same fact, with these log-odds (> 0)."""

    asked: Int[Tensor, " pair"]
    found: Int[Tensor, " pair"]
    logit: Float[Tensor, " pair"]

    def __len__(self) -> int:
        return len(self.asked)

    @staticmethod
    def none() -> "Pairs":
        empty = torch.empty(0, dtype=torch.long)
        return Pairs(empty, empty, torch.empty(0))

    @staticmethod
    def joined(parts: "list[Pairs]") -> "Pairs":
        return Pairs(
            torch.cat([part.asked for part in parts]),
            torch.cat([part.found for part in parts]),
            torch.cat([part.logit for part in parts]),
        )

    def select(self, which: Bool[Tensor, " pair"]) -> "Pairs":
        return Pairs(self.asked[which], self.found[which], self.logit[which])


def alike(scope: Scope, asked: Keyed, table: Keyed) -> Pairs:
    """All pairs above zero log-odds, without those that name different things however alike they read."""
    return Pairs.joined([Pairs.none(), *(_named(some, asked, table) for some in _alike(scope, asked, table))])


def _named(pairs: Pairs, asked: Keyed, table: Keyed) -> Pairs:
    """Those in which the one asks for nothing by a name that the other has not."""
    return pairs.select(covers(table.words[pairs.found], asked.words[pairs.asked]))


def _alike(scope: Scope, asked: Keyed, table: Keyed) -> Iterator[Pairs]:
    """The same whichever of the two sets is asked. Two subjects that were taught are told apart."""
    for start in range(0, len(asked), AT_A_TIME):
        some = asked.select(slice(start, start + AT_A_TIME))
        near = some.keys[:, :FIRST] @ table.keys[:, :FIRST].T >= scope.least - ROUNDING
        left, right = near.nonzero(as_tuple=True)
        if not len(left):
            continue
        agree = some.numbers[left] == table.numbers[right]
        about, of = some.subjects[left], table.subjects[right]
        agree &= (about == of) | (about == UNKNOWN) | (of == UNKNOWN)
        left, right = left[agree], right[agree]
        logit = scope.logit(scope.cosines_of_pairs(some.keys[left], table.keys[right]))
        opens = logit > 0
        yield Pairs(left[opens] + start, right[opens], logit[opens])


class Compared:
    """Which rows of a table that only grows are alike, each row compared once, when somebody first needs it."""

    def __init__(self, scope: Scope) -> None:
        self._scope, self._lock = scope, threading.Lock()
        self._pairs, self._rows = Pairs.none(), 0

    @torch.inference_mode()
    def of(self, table: Keyed) -> Pairs:
        """The pairs among these rows, both ways round. table: as it stands now, or as it once stood."""
        with self._lock:
            self._compare(table)
            pairs, rows = self._pairs, self._rows
        whole = rows == len(table)
        return pairs if whole else pairs.select((pairs.asked < len(table)) & (pairs.found < len(table)))

    def _compare(self, table: Keyed) -> None:
        """The rows that came last, with all up to them."""
        parts = [self._pairs]
        for start in range(self._rows, len(table), AT_A_TIME):
            end = min(start + AT_A_TIME, len(table))
            for found in _alike(self._scope, table.select(slice(start, end)), table.select(slice(0, end))):
                new = Pairs(found.asked + start, found.found, found.logit)
                old = new.select(new.found < start)
                parts += [
                    _named(some, table, table) for some in (new, Pairs(old.found, old.asked, old.logit))
                ]
        self._pairs, self._rows = Pairs.joined(parts), max(self._rows, len(table))


def best(pairs: Pairs, count: int) -> tuple[Float[Tensor, " asked"], Int[Tensor, " asked"]]:
    """Log-odds and row of the best partner of each of `count`; minus infinity and -1 without any.

    The first row of equals, whatever the order of the pairs.
    """
    logit = torch.full((count,), float("-inf")).scatter_reduce_(0, pairs.asked, pairs.logit, "amax")
    first = pairs.select(pairs.logit == logit[pairs.asked])
    nowhere = torch.iinfo(torch.long).max
    row = torch.full((count,), nowhere).scatter_reduce_(0, first.asked, first.found, "amin")
    return logit, row.masked_fill_(row == nowhere, -1)
