"""The default method of the product, through its own code, and a cache of answers by cosine, behind one face."""

import unicodedata
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import torch

from models.memory import AnswerChange, EditRefused, Image, Material
from models.nkb.memory import BANK, BankMemory, BankOptions
from models.nkb.reader import Reader
from models.nkb.system import NkbSystem
from models.system import Ask
from tests.bench.bank import nkb_of
from tests.bench.editing_methods.draw import EditRequest

BATCH = 64
THRESHOLD = 0.75  # the best mean of reliability, generalisation and locality on 250 tuning facts


@dataclass(frozen=True)
class Reply:
    """A reply. answer: None if it is withheld. best: the best answer."""

    answer: str | None
    best: str


class EditedModel(Protocol):
    """A stream of edits, all of them active. applied: ids of those that were not refused."""

    @property
    def applied(self) -> frozenset[str]: ...

    def say(self, questions: Sequence[str]) -> list[Reply]: ...

    def with_only(self, ids: Collection[str]) -> "EditedModel":
        """Return the model with only these edits active, without a trace of the others."""


@dataclass(frozen=True)
class EditedProduct:
    """Gated slots, through the public functions of the system and the memory that are served."""

    system: NkbSystem
    memory: BankMemory
    materials: Sequence[Material]

    @property
    def applied(self) -> frozenset[str]:
        return frozenset(material.edit for material in self.materials)

    @cached_property
    def image(self) -> Image:
        return self.memory.fold(self.materials)

    def say(self, questions: Sequence[str]) -> list[Reply]:
        views, answers = {BANK: self.memory.view(self.image)}, list[Reply]()
        for batch in batches(questions):
            replies = self.system.answer([Ask(question) for question in batch], [views] * len(batch))
            answers += [Reply(r.answer and clean(r.answer), clean(r.best)) for r in replies]
        return answers

    def with_only(self, ids: Collection[str]) -> "EditedProduct":
        return replace(self, materials=[material for material in self.materials if material.edit in ids])


def edit_product(reader: Reader, requests: Sequence[EditRequest]) -> EditedProduct:
    """Make the edits one after the other; refused ones are left out."""
    system, memory = nkb_of(reader)
    materials: list[Material] = []
    for order, request in enumerate(requests, 1):
        change = AnswerChange(request.id, request.question, request.answer)
        (result,) = memory.build([change], BankOptions(method="gated"))
        if not isinstance(result, EditRefused):
            materials.append(replace(result, block=replace(result.block, order=order)))
    return EditedProduct(system, memory, materials)


@dataclass(frozen=True)
class EditedCache:
    """The edit whose question is nearest by cosine answers, as semantic caches have it; of equal ones the later."""

    base: EditedModel
    reader: Reader
    requests: Sequence[EditRequest]

    @property
    def applied(self) -> frozenset[str]:
        return frozenset(request.id for request in self.requests)

    def say(self, questions: Sequence[str]) -> list[Reply]:
        replies = self.base.say(questions)
        if not self.requests:
            return replies
        wordings = self._read([request.question for request in self.requests]).flip(0)
        best = (self._read(questions) @ wordings.T).max(1)
        for number, (score, place) in enumerate(
            zip(best.values.tolist(), best.indices.tolist(), strict=True)
        ):
            if score >= THRESHOLD:
                answer = self.requests[len(self.requests) - 1 - place].answer
                replies[number] = Reply(answer, answer)
        return replies

    def with_only(self, ids: Collection[str]) -> "EditedCache":
        return replace(self, requests=[request for request in self.requests if request.id in ids])

    @torch.inference_mode()
    def _read(self, texts: Sequence[str]) -> torch.Tensor:
        return torch.cat([self.reader.encoder.encode(batch).sentences for batch in batches(texts)])


def edit_cache(reader: Reader, requests: Sequence[EditRequest]) -> EditedCache:
    return EditedCache(edit_product(reader, ()), reader, requests)


def clean(text: str) -> str:
    """Return a text as it is compared: after NFC and without outer white space."""
    return unicodedata.normalize("NFC", text).strip()


def batches(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    yield from (texts[start : start + BATCH] for start in range(0, len(texts), BATCH))
