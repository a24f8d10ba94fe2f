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
from tests.bench.editing_methods.draw import EditRequest
from tests.bench.editing_methods.editors import EditedModel, mean
from tests.bench.editing_methods.methods.method import NONE, Bank, Edit, Method, Report, Rows, Values, fold
from tests.bench.editing_methods.model import Model, Reply, batches

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

    def fresh_copy(self) -> "Peer":
        """Return the same edits, which are read once for all peers; batching them is the harness's part."""
        return self

    def apply(self, requests: Sequence[EditRequest]) -> EditedModel:
        edits, step_ms = self.edits.of(requests), []
        timed_method = TimedMethod(self.method, step_ms)
        rows, report = fold(timed_method, self.bank, edits, {edit.id for edit in edits})
        edit_ms = self.edits.aledit_ms + statistics.median(step_ms[:-1] or [0]) + step_ms[-1]
        return EditedPeer(self, edits, rows, report, edit_ms)


@dataclass(frozen=True)
class TimedMethod:
    """A method that records how many milliseconds its steps take, and its rows at the end."""

    method: Method
    step_ms: list[float]

    @property
    def name(self) -> str:
        return self.method.name

    def start(self, bank: Bank) -> Any:
        return self.method.start(bank)

    def step(self, bank: Bank, state: Any, edit: Edit) -> Any:
        return self._time(lambda: self.method.step(bank, state, edit))

    def rows(self, bank: Bank, state: Any) -> Rows:
        rows: Rows = self._time(lambda: self.method.rows(bank, state))
        return rows

    def kept_bytes(self, edit: Edit) -> int:
        return self.method.kept_bytes(edit)

    def _time(self, run: Callable[[], Any]) -> Any:
        start = time.perf_counter()
        result = run()
        self.step_ms.append(1e3 * (time.perf_counter() - start))
        return result


@dataclass(frozen=True)
class EditedPeer:
    peer: Peer
    edits: Sequence[Edit]
    rows: Rows
    report: Report
    edit_ms: float

    def say(self, questions: Sequence[str]) -> list[Reply]:
        return self.peer.model.say(questions, self._reads(questions))

    def _reads(self, questions: Sequence[str]) -> list[Overlay | None]:
        rows, model = self.rows, self.peer.model
        if isinstance(rows, Values):
            layer, slots = len(model.reader.decoder.layers) - 1, torch.arange(len(rows.rows))
            return [Overlay({layer: (slots, rows.rows)})] * len(questions)
        inputs = batches([question.n for question in model.read(questions)])
        places = [place for batch in inputs for place in rows.select(torch.stack(list(batch))).tolist()]
        return [None if place == NONE else Overlay(steps=rows.steps[place]) for place in places]

    def with_only(self, ids: Collection[str]) -> "EditedPeer":
        rows, report = fold(self.peer.method, self.peer.bank, self.edits, ids)
        return replace(self, edits=[edit for edit in self.edits if edit.id in ids], rows=rows, report=report)

    def without_cache(self) -> "EditedPeer":
        return replace(self, peer=replace(self.peer, model=Model(self.peer.model.reader)))

    @property
    def applied(self) -> frozenset[str]:
        return frozenset(self.report.applied)

    @property
    def rows_per_slot(self) -> float:
        return self.report.rows_per_slot

    @property
    def bytes_per_edit(self) -> float:
        return mean([self.peer.method.kept_bytes(edit) for edit in self.edits if edit.id in self.applied])

    @property
    def digest(self) -> str:
        total = hashlib.sha256()
        for tensor in _tensors(self.rows):
            total.update(tensor.contiguous().numpy().tobytes())
        return total.hexdigest()


def _tensors(rows: Any) -> Iterator[Tensor]:
    for field in fields(rows):
        part = getattr(rows, field.name)
        tensors = [part] if isinstance(part, Tensor) else part
        yield from (tensor for tensor in tensors if isinstance(tensor, Tensor))


class Edits:
    """Edits as rows, read once for all peers."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._edits: dict[tuple[str, str], Edit] = {}
        self._aledit_ms: list[float] = []

    def of(self, requests: Sequence[EditRequest]) -> list[Edit]:
        new = [request for request in requests if (request.id, request.answer) not in self._edits]
        if new:
            for request, edit in zip(new, material.read_edits(self._model, new), strict=True):
                self._edits[request.id, request.answer] = edit
            self._aledit_ms = [self._time_alone(request) for request in new[:ALONE]]
        return [self._edits[request.id, request.answer] for request in requests]

    @property
    def aledit_ms(self) -> float:
        """Return the time from the words of one edit to its rows and targets, when it is read alone."""
        return statistics.median(self._aledit_ms or [0])

    def _time_alone(self, request: EditRequest) -> float:
        start = time.perf_counter()
        material.read_edits(Model(self._model.reader), [request])
        return 1e3 * (time.perf_counter() - start)

    def forget(self) -> None:
        self._edits.clear()


class Surgery:
    """The paper's surgery as the product makes it; its moved rows are read like any peer's."""

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
