"""Every method behind one face: make a stream of edits, answer with them, take some back. And the product's own.

The product's default runs through the product's own code, gate and withholding included; peers.py has the others.
"""

import statistics
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

from models.memory import AnswerChange, EditRefused, Image, Material
from models.nkb.memory import BANK, BankMemory, BankOptions
from models.nkb.system import NkbSystem
from models.system import Ask
from tests.bench.bank import nkb_of
from tests.bench.editing_methods.draw import EditRequest
from tests.bench.editing_methods.model import Model, Reply, batches, clean


class EditedModel(Protocol):
    """A stream of edits, all of them active.

    applied: ids of those that were not refused. edit_ms: one more edit on top of these, from its words to the rows that
    answer. bytes_per_edit: what has to be kept of one. digest: of the rows, bit for bit.
    """

    applied: frozenset[str]
    edit_ms: float
    bytes_per_edit: float
    rows_per_slot: float

    @property
    def digest(self) -> str: ...

    def say(self, questions: Sequence[str]) -> list[Reply]: ...

    def with_only(self, ids: Collection[str]) -> "EditedModel":
        """Return the model with only these edits active, without a trace of the others."""

    def without_cache(self) -> "EditedModel":
        """Return the same model with an empty cache."""


class Editor(Protocol):
    name: str

    def apply(self, requests: Sequence[EditRequest]) -> EditedModel: ...

    def fresh_copy(self) -> "Editor":
        """Return the same model in a process that has made no edit yet."""


@dataclass(frozen=True)
class Product:
    """The default: gated slots, through the public functions of the system and the memory that are served."""

    model: Model
    name: str = "gated"

    def fresh_copy(self) -> "Product":
        return replace(self, model=Model(replace(self.model.reader)))

    def apply(self, requests: Sequence[EditRequest]) -> EditedModel:
        system, memory = nkb_of(self.model.reader)
        materials: list[Material] = []
        seconds: list[float] = []
        for order, request in enumerate(requests, 1):
            start = time.perf_counter()
            change = AnswerChange(request.id, request.question, request.answer)
            (result,) = memory.build([change], BankOptions(method="gated"))
            if isinstance(result, EditRefused):
                continue
            seconds.append(time.perf_counter() - start)
            materials.append(replace(result, block=replace(result.block, order=order)))
        memory.view(memory.fold(materials[:-1]))
        start = time.perf_counter()
        memory.view(memory.fold(materials))
        last = time.perf_counter() - start
        return EditedProduct(system, memory, materials, 1e3 * (statistics.median(seconds or [0]) + last))


@dataclass(frozen=True)
class EditedProduct:
    system: NkbSystem
    memory: BankMemory
    materials: Sequence[Material]
    edit_ms: float

    def say(self, questions: Sequence[str]) -> list[Reply]:
        views, answers = {BANK: self.memory.view(self._image)}, []
        for batch in batches(questions):
            replies = self.system.answer([Ask(question) for question in batch], [views] * len(batch))
            answers += [
                Reply(None if reply.answer is None else clean(reply.answer), clean(reply.best))
                for reply in replies
            ]
        return answers

    def with_only(self, ids: Collection[str]) -> "EditedProduct":
        return replace(self, materials=[material for material in self.materials if material.edit in ids])

    def without_cache(self) -> "EditedProduct":
        return self

    @property
    def applied(self) -> frozenset[str]:
        return frozenset(material.edit for material in self.materials)

    @property
    def digest(self) -> str:
        return self._image.checksum

    @property
    def bytes_per_edit(self) -> float:
        return mean([len(material.block.encoded) for material in self.materials])

    @property
    def rows_per_slot(self) -> float:
        """Return the number of used slots for each reserved slot."""
        n_used = sum(len(material.block.tensors["tokens"]) for material in self.materials)
        return n_used / self.system.reader.bank.size

    @cached_property
    def _image(self) -> Image:
        return self.memory.fold(self.materials)


def mean(sizes: Sequence[int]) -> float:
    return sum(sizes) / len(sizes) if sizes else 0.0
