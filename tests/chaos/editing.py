"""An editor: corrects, takes back, now and then goes back some versions; nothing new before the last is settled."""

from __future__ import annotations

import asyncio
from itertools import count
from random import Random

import httpx

from tests.chaos import questions
from tests.chaos.heard import Ears
from tests.chaos.journal import Correction, Intent, Journal
from tests.chaos.writing import PAUSE_S, Writing

THINK_S = 0.8  # on average, between two commits of one editor
MOST_CORRECTIONS = 4
FURTHEST_BACK = 10


class Editor:
    """run() until cancelled. Its answers are like nobody else's, so that any of them tells which edit it is from."""

    def __init__(
        self, name: str, http: httpx.AsyncClient, journal: Journal, ears: Ears, chance: Random
    ) -> None:
        self._name, self._http, self._journal, self._ears = name, http, journal, ears
        self._chance, self._turns = chance, count(1)
        self._own: set[str] = set()

    async def run(self) -> None:
        while True:
            await asyncio.sleep(self._chance.expovariate(1 / THINK_S))
            await self._write(Writing(self._intent(), "all" if self._chance.random() < 0.75 else "none"))

    async def _write(self, writing: Writing) -> None:
        self._journal.begin(writing.intent)
        self._own.add(writing.intent.key)
        while True:
            try:
                reply = await self._http.send(writing.request(self._http))
            except httpx.HTTPError as error:
                self._ears.broke(error)
            else:
                if writing.settled(reply, self._journal, self._ears):
                    return
            await asyncio.sleep(PAUSE_S)

    def _intent(self) -> Intent:
        kind, head = self._chance.random(), self._journal.head
        mine = [one.version for one in self._journal.acknowledged if one.intent.key in self._own]
        if mine and kind < 0.35:
            return Intent("revert", target=self._chance.choice(mine))
        if mine and kind < 0.37:
            return Intent("rollback", target=max(0, head - self._chance.randint(1, FURTHEST_BACK)))
        return self._corrections()

    def _corrections(self) -> Intent:
        turn = next(self._turns)
        many, gated = self._chance.randint(1, MOST_CORRECTIONS), self._chance.random() < 0.8
        asked = self._chance.sample(questions.BY_GATE if gated else questions.BY_ROW, many)
        made = tuple(
            self._correction(question, f"{turn}.{index}", gated) for index, question in enumerate(asked)
        )
        return Intent("edit", made, "gated" if gated else "surgery")

    def _correction(self, question: str, turn: str, gated: bool) -> Correction:
        others = (questions.reworded(question),) if gated and self._chance.random() < 0.5 else ()
        return Correction(question, f"{self._name} {turn}", others)
