"""An editor that corrects, reverts, and sometimes rolls back; it waits until each request is settled."""

from __future__ import annotations

import asyncio
from itertools import count
from random import Random

import httpx

from tests.chaos import questions
from tests.chaos.journal import Correction, Intent, Journal
from tests.chaos.recorder import Recorder
from tests.chaos.write import PAUSE_S, Write

THINK_S = 0.8  # on average, between two commits of one editor
MAX_CORRECTIONS = 4
MAX_ROLLBACK = 10


class Editor:
    """A client that makes edits; call run() and cancel it. Its answers are unique, so that each tells its edit."""

    def __init__(
        self, name: str, http: httpx.AsyncClient, journal: Journal, recorder: Recorder, chance: Random
    ) -> None:
        self._name, self._http, self._journal, self._recorder = name, http, journal, recorder
        self._chance, self._turns = chance, count(1)
        self._keys: set[str] = set()

    async def run(self) -> None:
        while True:
            await asyncio.sleep(self._chance.expovariate(1 / THINK_S))
            await self._write(Write(self._intent(), "all" if self._chance.random() < 0.75 else "none"))

    async def _write(self, write: Write) -> None:
        self._journal.begin(write.intent)
        self._keys.add(write.intent.key)
        while True:
            try:
                reply = await self._http.send(write.request(self._http))
            except httpx.HTTPError as error:
                self._recorder.record_break(error)
            else:
                if write.settle(reply, self._journal, self._recorder):
                    return
            await asyncio.sleep(PAUSE_S)

    def _intent(self) -> Intent:
        kind, head = self._chance.random(), self._journal.head
        versions = [
            commit.version for commit in self._journal.acknowledgements if commit.intent.key in self._keys
        ]
        if versions and kind < 0.35:
            return Intent("revert", target=self._chance.choice(versions))
        if versions and kind < 0.37:
            return Intent("rollback", target=max(0, head - self._chance.randint(1, MAX_ROLLBACK)))
        return self._corrections()

    def _corrections(self) -> Intent:
        turn = next(self._turns)
        n_corrections, gated = self._chance.randint(1, MAX_CORRECTIONS), self._chance.random() < 0.8
        sample = self._chance.sample(questions.BY_GATE if gated else questions.BY_ROW, n_corrections)
        corrections = tuple(
            self._correction(question, f"{turn}.{index}", gated) for index, question in enumerate(sample)
        )
        return Intent("edit", corrections, "gated" if gated else "surgery")

    def _correction(self, question: str, turn: str, gated: bool) -> Correction:
        paraphrases = (questions.paraphrase(question),) if gated and self._chance.random() < 0.5 else ()
        return Correction(question, f"{self._name} {turn}", paraphrases)
