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
from tests.bench.editing_methods.draw import Wish
from tests.bench.editing_methods.said import Model, Said, batches, clean


class Made(Protocol):
    """A stream of edits, all of them active.

    made: ids of those that were not refused. edit_ms: one more edit on top of these, from its words to the rows that
    answer. bytes_per_edit: what has to be kept of one. digest: of the rows, bit for bit.
    """

    made: frozenset[str]
    edit_ms: float
    bytes_per_edit: float
    rows_per_slot: float

    @property
    def digest(self) -> str: ...

    def say(self, questions: Sequence[str]) -> list[Said]: ...

    def keeping(self, ids: Collection[str]) -> "Made":
        """The same with only these active; what the others wrote is gone."""

    def unread(self) -> "Made":
        """The same, which has read no question yet."""


class Way(Protocol):
    name: str

    def make(self, wishes: Sequence[Wish]) -> Made: ...

    def anew(self) -> "Way":
        """The same in a process that has made no edit yet."""


@dataclass(frozen=True)
class Product:
    """The default: gated slots, through the public functions of the system and the memory that are served."""

    model: Model
    name: str = "gated"

    def anew(self) -> "Product":
        return replace(self, model=Model(replace(self.model.reader)))

    def make(self, wishes: Sequence[Wish]) -> Made:
        system, memory = nkb_of(self.model.reader)
        materials: list[Material] = []
        seconds: list[float] = []
        for order, wish in enumerate(wishes, 1):
            start = time.perf_counter()
            change = AnswerChange(wish.id, wish.question, wish.answer)
            (result,) = memory.build([change], BankOptions(method="gated"))
            if isinstance(result, EditRefused):
                continue
            seconds.append(time.perf_counter() - start)
            materials.append(replace(result, block=replace(result.block, order=order)))
        memory.view(memory.fold(materials[:-1]))
        start = time.perf_counter()
        memory.view(memory.fold(materials))
        last = time.perf_counter() - start
        return ProductMade(system, memory, materials, 1e3 * (statistics.median(seconds or [0]) + last))


@dataclass(frozen=True)
class ProductMade:
    system: NkbSystem
    memory: BankMemory
    materials: Sequence[Material]
    edit_ms: float

    def say(self, questions: Sequence[str]) -> list[Said]:
        views, answers = {BANK: self.memory.view(self._image)}, []
        for batch in batches(questions):
            replies = self.system.answer([Ask(question) for question in batch], [views] * len(batch))
            answers += [
                Said(None if reply.answer is None else clean(reply.answer), clean(reply.best))
                for reply in replies
            ]
        return answers

    def keeping(self, ids: Collection[str]) -> "ProductMade":
        return replace(self, materials=[one for one in self.materials if one.edit in ids])

    def unread(self) -> "ProductMade":
        return self

    @property
    def made(self) -> frozenset[str]:
        return frozenset(one.edit for one in self.materials)

    @property
    def digest(self) -> str:
        return self._image.checksum

    @property
    def bytes_per_edit(self) -> float:
        return mean([len(one.block.encoded) for one in self.materials])

    @property
    def rows_per_slot(self) -> float:
        """Slots that are used, for each slot that is reserved."""
        used = sum(len(one.block.tensors["steps"]) for one in self.materials)
        return used / self.system.reader.bank.size

    @cached_property
    def _image(self) -> Image:
        return self.memory.fold(self.materials)


def mean(sizes: Sequence[int]) -> float:
    return sum(sizes) / len(sizes) if sizes else 0.0
