"""One memory at one version, ready to be asked; it remembers what it said, so nothing is asked twice."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from models.memory import Image, Usage, View
from models.system import Ask, Reply, System
from service.measuring.materials import key

BATCH = 64  # questions in one forward pass; between two passes other work gets its turn
COMPARED = 256  # questions in one comparison: most of them were read before

Run = Callable[..., Coroutine[Any, Any, Any]]
Inform = Callable[[Sequence[Ask], Sequence[View]], Awaitable[list[Ask]]]


@dataclass(frozen=True)
class Speakers:
    """odd: as `System.speakers` tells of the edits in `image`."""

    image: Image
    odd: Mapping[str, Sequence[str | None]] | None

    def of(self, edit: str, place: int) -> str | None:
        """The edit that answers this wording of it; None where only asking tells, as of one that is not active."""
        if self.odd is None:
            return None
        if edit not in self.odd:
            return edit if key(edit) in self.image.blocks else None
        who = self.odd[edit]
        return who[place] if who else None

    def speaks_oddly(self, edit: str) -> bool:
        """Whether it may not answer each of its own wordings."""
        return self.odd is None or edit in self.odd


@dataclass(frozen=True)
class Said:
    """answer: None when the system declined. edits, objects: what it rests on; objects of facts of the graph."""

    answer: str | None
    edits: tuple[str, ...]
    objects: tuple[str, ...] = ()


@dataclass(eq=False)
class Reading:
    """Never changes but for what it remembers, which follows from the rest.

    inform: adds to questions what the graph says of their words.
    """

    system: System
    image: Image
    view: View = field(repr=False)
    run: Run = field(repr=False)
    inform: Inform = field(repr=False)
    known: dict[str, Said] = field(default_factory=dict, repr=False)
    _speakers: Speakers | None = field(default=None, init=False, repr=False)

    @cached_property
    def capacity(self) -> Usage:
        return self.system.capacity(self.image)

    async def ask(self, questions: Iterable[str]) -> None:
        """Make every one of these known."""
        unknown = {question for question in questions if question not in self.known}
        alike = sorted(unknown, key=lambda question: (len(question), question))  # in length: little padding
        for some in _batches(alike, BATCH):
            asks = await self._asks(some)
            replies: list[Reply] = await self.run(self.system.answer, asks, [self.view] * len(asks))
            for question, reply in zip(some, replies, strict=True):
                objects = tuple(str(fact["object"]) for fact in reply.facts)
                self.known[question] = Said(reply.answer, reply.edits, objects)

    async def speakers(self) -> Speakers:
        """`System.speakers` of this version."""
        if self._speakers is None:
            self._speakers = Speakers(self.image, await self.run(self.system.speakers, self.view))
        return self._speakers

    async def speaking(self, questions: Sequence[str]) -> list[str | None]:
        """`System.speaking` of this version."""
        if (await self.speakers()).odd is None:
            return [None] * len(questions)
        found: list[str | None] = []
        for start in range(0, len(questions), COMPARED):
            asks = await self._asks(questions[start : start + COMPARED])
            found += await self.run(self.system.speaking, asks, self.view)
        return found

    async def touched_since(self, before: Reading) -> Sequence[str] | None:
        """`System.touched` between the two."""
        touched: Sequence[str] | None = await self.run(self.system.touched, before.view, self.view)
        return touched

    async def read_ahead(self, questions: Iterable[str]) -> None:
        """So that `moved_since` finds them read."""
        for some in _batches(questions, COMPARED):
            asks = await self._asks(some)
            await self.run(self.system.unmoved, (asks, self.view), (asks, self.view))

    async def moved_since(self, before: Reading, questions: Iterable[str]) -> list[str]:
        """Those that may be answered otherwise than `before` does. Of the others, what it knows is known here too."""
        if before is self:
            return []
        moved: list[str] = []
        for some in _batches(questions, COMPARED):
            old, new = await before._asks(some), await self._asks(some)
            unmoved = await self.run(self.system.unmoved, (old, before.view), (new, self.view))
            moved += [question for question, stays in zip(some, unmoved, strict=True) if not stays]
            staying = (question for question, stays in zip(some, unmoved, strict=True) if stays)
            self.known.update((q, before.known[q]) for q in staying if q in before.known)
        return moved

    async def _asks(self, questions: Sequence[str]) -> list[Ask]:
        return await self.inform([Ask(question) for question in questions], [self.view] * len(questions))


def _batches(questions: Iterable[str], size: int) -> list[Sequence[str]]:
    once = list(dict.fromkeys(questions))
    return [once[start : start + size] for start in range(0, len(once), size)]
