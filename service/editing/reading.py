"""One memory at one version, ready to be asked; it remembers what it said, so nothing is asked twice."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from models.memory import Image
from models.system import Ask, Reply, System, View

BATCH = 64  # questions in one forward pass; between two passes other work gets its turn

Run = Callable[..., Coroutine[Any, Any, Any]]


@dataclass(frozen=True)
class Said:
    """answer: None when the system declined. edits: those that the answer rests on."""

    answer: str | None
    edits: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Reading:
    """Never changes but for what it remembers, which follows from the rest."""

    system: System
    image: Image
    view: View = field(repr=False)
    run: Run = field(repr=False)
    known: dict[str, Said] = field(default_factory=dict, repr=False)

    async def ask(self, questions: Iterable[str]) -> None:
        """Make every one of these known."""
        for some in _batches(question for question in questions if question not in self.known):
            for question, reply in zip(some, await self.run(self._replies, some), strict=True):
                self.known[question] = Said(reply.answer, reply.edits)

    async def moved_since(self, before: Reading, questions: Iterable[str]) -> list[str]:
        """Those that may be answered otherwise than `before` does. These are then known to both."""
        moved: list[str] = []
        for some in _batches(questions):
            unmoved = await self.run(self.system.unmoved, some, before.view, self.view)
            moved += [question for question, stays in zip(some, unmoved, strict=True) if not stays]
        await before.ask(moved)
        await self.ask(moved)
        return moved

    def _replies(self, questions: Sequence[str]) -> list[Reply]:
        return self.system.answer([Ask(question) for question in questions], [self.view] * len(questions))


def _batches(questions: Iterable[str]) -> list[Sequence[str]]:
    once = list(dict.fromkeys(questions))
    return [once[start : start + BATCH] for start in range(0, len(once), BATCH)]
