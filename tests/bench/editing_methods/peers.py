"""Peers: methods of models/editors, read through the same decoder as the product.

Their answers are never withheld, which can only help them.
"""

import hashlib
import statistics
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import torch
from torch import Tensor

from models.memory import AnswerChange, EditRefused, Material
from models.nkb.memory import BankMemory, BankOptions
from models.nkb.overlay import Overlay
from tests.bench.editing_methods import material
from tests.bench.editing_methods.draw import Wish
from tests.bench.editing_methods.methods.method import NONE, Bank, Edit, Method, Report, Rows, Values, fold
from tests.bench.editing_methods.said import Model, Said, batches
from tests.bench.editing_methods.ways import Made, mean

ALONE = 7  # edits that are timed one by one


@dataclass(eq=False)
class Peer:
    model: Model
    bank: Bank
    method: Method
    edits: "Edits"

    @property
    def name(self) -> str:
        return self.method.name

    def anew(self) -> "Peer":
        """Edits are read once for all: how they are batched is the harness's, not the method's."""
        return self

    def make(self, wishes: Sequence[Wish]) -> Made:
        edits, taken = self.edits.of(wishes), []
        timed = Timed(self.method, taken)
        rows, report = fold(timed, self.bank, edits, {edit.id for edit in edits})
        one_ms = self.edits.alone_ms + statistics.median(taken[:-1] or [0]) + taken[-1]
        return PeerMade(self, edits, rows, report, one_ms)


@dataclass(frozen=True)
class Timed:
    """A method whose steps, and whose rows at the end, write down how many milliseconds they take."""

    method: Method
    taken: list[float]

    @property
    def name(self) -> str:
        return self.method.name

    def start(self, bank: Bank) -> Any:
        return self.method.start(bank)

    def step(self, bank: Bank, state: Any, edit: Edit) -> Any:
        return self._timed(lambda: self.method.step(bank, state, edit))

    def rows(self, bank: Bank, state: Any) -> Rows:
        rows: Rows = self._timed(lambda: self.method.rows(bank, state))
        return rows

    def kept_bytes(self, edit: Edit) -> int:
        return self.method.kept_bytes(edit)

    def _timed(self, run: Callable[[], Any]) -> Any:
        started = time.perf_counter()
        found = run()
        self.taken.append(1e3 * (time.perf_counter() - started))
        return found


@dataclass(frozen=True)
class PeerMade:
    peer: Peer
    edits: Sequence[Edit]
    rows: Rows
    report: Report
    edit_ms: float

    def say(self, questions: Sequence[str]) -> list[Said]:
        return self.peer.model.say(questions, self._reads(questions))

    def _reads(self, questions: Sequence[str]) -> list[Overlay | None]:
        rows, model = self.rows, self.peer.model
        if isinstance(rows, Values):
            layer, slots = len(model.reader.decoder.layers) - 1, torch.arange(len(rows.rows))
            return [Overlay({layer: (slots, rows.rows)})] * len(questions)
        asked = batches([one.n for one in model.read(questions)])
        places = [place for some in asked for place in rows.opened(torch.stack(list(some))).tolist()]
        return [None if place == NONE else Overlay(steps=rows.steps[place]) for place in places]

    def keeping(self, ids: Collection[str]) -> "PeerMade":
        rows, report = fold(self.peer.method, self.peer.bank, self.edits, ids)
        return replace(self, edits=[edit for edit in self.edits if edit.id in ids], rows=rows, report=report)

    def unread(self) -> "PeerMade":
        return replace(self, peer=replace(self.peer, model=Model(self.peer.model.reader)))

    @property
    def made(self) -> frozenset[str]:
        return frozenset(self.report.made)

    @property
    def rows_per_slot(self) -> float:
        return self.report.rows_per_slot

    @property
    def bytes_per_edit(self) -> float:
        return mean([self.peer.method.kept_bytes(edit) for edit in self.edits if edit.id in self.made])

    @property
    def digest(self) -> str:
        total = hashlib.sha256()
        for tensor in _tensors(self.rows):
            total.update(tensor.contiguous().numpy().tobytes())
        return total.hexdigest()


def _tensors(rows: Any) -> Iterator[Tensor]:
    for field in fields(rows):
        part = getattr(rows, field.name)
        yield from [part] if isinstance(part, Tensor) else (one for one in part if isinstance(one, Tensor))


class Edits:
    """Edits as rows, read once for all peers."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._known: dict[tuple[str, str], Edit] = {}
        self._alone_ms: list[float] = []

    def of(self, wishes: Sequence[Wish]) -> list[Edit]:
        new = [wish for wish in wishes if (wish.id, wish.answer) not in self._known]
        if new:
            for wish, edit in zip(new, material.edits(self._model, new), strict=True):
                self._known[wish.id, wish.answer] = edit
            self._alone_ms = [self._time_alone(wish) for wish in new[:ALONE]]
        return [self._known[wish.id, wish.answer] for wish in wishes]

    @property
    def alone_ms(self) -> float:
        """From the words of one edit to its rows and their targets, when nothing else is read with it."""
        return statistics.median(self._alone_ms or [0])

    def _time_alone(self, wish: Wish) -> float:
        started = time.perf_counter()
        material.edits(Model(self._model.reader), [wish])
        return 1e3 * (time.perf_counter() - started)

    def forget(self) -> None:
        self._known.clear()


class Surgery:
    """The paper's surgery as the product makes it, its moved rows read like any peer's."""

    name = "surgery"

    def __init__(self, memory: BankMemory) -> None:
        self._memory = memory
        self._materials: dict[tuple[str, str], Material] = {}

    def start(self, bank: Bank) -> tuple[Material, ...]:
        return ()

    def step(self, bank: Bank, state: tuple[Material, ...], edit: Edit) -> tuple[Material, ...]:
        key = edit.id, edit.answer
        if key not in self._materials:
            self._materials[key] = self._build(AnswerChange(edit.id, edit.question, edit.answer))
        material = self._materials[key]
        return (*state, replace(material, block=replace(material.block, order=len(state) + 1)))

    def _build(self, change: AnswerChange) -> Material:
        (result,) = self._memory.build([change], BankOptions(method="surgery"))
        if isinstance(result, EditRefused):
            raise result
        return result

    def rows(self, bank: Bank, state: tuple[Material, ...]) -> Values:
        values = bank.values.clone()
        for slots, rows in self._memory.view(self._memory.fold(state)).values.values():
            values[slots] = rows
        return Values(values)

    def kept_bytes(self, edit: Edit) -> int:
        return len(self._materials[edit.id, edit.answer].block.encoded)
