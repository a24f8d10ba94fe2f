"""The questions that nobody edited and that are answered otherwise all the same."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from errata.wire import Link, SideEffect

from service.ledger.commit import EditRecord
from service.measuring.probes import Probes
from service.measuring.standing import Readings, hear
from service.measuring.wording import plain


@dataclass(frozen=True)
class Effects:
    """compared: how many questions. unmeasured_probes: how many more may be answered otherwise."""

    compared: int
    unmeasured_probes: int
    changed: list[SideEffect]


@dataclass(frozen=True)
class Bystanders:
    """probes: by model."""

    probes: Mapping[str, Probes]

    async def prepare(self, readings: Readings) -> None:
        """Read the fixed questions once, before an edit has to wait for it."""
        for model, probes in self.probes.items():
            touched = await readings[model].touched_since(readings[model])
            chosen = await asyncio.to_thread(probes.about, probes.fixed[:1], touched)
            await readings[model].read_ahead(chosen.asked)

    async def changed(
        self,
        edits: Sequence[EditRecord],
        before: Readings,
        after: Readings,
        versions: tuple[int, int | None],
        earlier: Sequence[EditRecord] = (),
        told: Iterable[str] = (),
    ) -> Effects:
        """On questions that these edits are not about.

        versions: of the two sides; None for one that nobody can ask. earlier: edits that stand on both sides,
        whose own questions are asked too. told: further wordings, of which the reader knows from elsewhere.
        """
        compared, unmeasured_probes = 0, 0
        found: list[SideEffect] = []
        known_of = {plain(question) for question in told}
        for model, edited in sorted(_wordings(edits).items()):
            touched = await after[model].touched_since(before[model])
            chosen = await asyncio.to_thread(self.probes[model].about, edited, touched)
            known = {plain(question) for question in edited} | chosen.covered
            others = (question for edit in earlier if edit.model == model for question in edit.wordings[:1])
            further = {plain(question): question for question in others if plain(question) not in known}
            moved = await after[model].moved_since(before[model], [*chosen.asked, *further.values()])
            await before[model].ask(moved)
            await hear(moved, {edit.id: edit for edit in edits}, after[model])
            old, new = before[model].known, after[model].known
            compared += len(chosen.covered - known_of) + len(further)
            unmeasured_probes += chosen.unmeasured_probes
            found += [
                SideEffect(
                    question=q,
                    before=old[q].answer,
                    after=new[q].answer,
                    model=model,
                    link=_link(q, model, versions),
                )
                for q in moved
                if old[q].answer != new[q].answer and plain(q) not in known_of
            ]
        return Effects(compared, unmeasured_probes, found)


def _link(question: str, model: str, versions: tuple[int, int | None]) -> Link:
    before, after = versions
    return Link(
        before=_path(question, model, before), after=None if after is None else _path(question, model, after)
    )


def _path(question: str, model: str, version: int) -> str:
    """Of GET /v1/answers."""
    return "/v1/answers?" + urlencode({"question": question, "model": model, "version": version})


def _wordings(edits: Sequence[EditRecord]) -> dict[str, list[str]]:
    """By model, what the edits are about: where nobody can ask for it, the name of the subject."""
    wordings: dict[str, list[str]] = defaultdict(list)
    for edit in edits:
        wordings[edit.model] += edit.wordings or [str(edit.notes.get("subject", ""))]
    return wordings
