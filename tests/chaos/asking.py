"""A client: asks at its own pace, one question or many, of now, of a version at least, or of a version exactly."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

import httpx

from tests.chaos import questions
from tests.chaos.heard import OK, Ears, Promise, problem

PAUSE_S = 1.0  # on average, between two requests of one client
BATCH = (2, 12)
RECENT = 6  # versions that a replica still has at hand
OLDER = 5  # that are pinned again and again, as in a report that somebody reads
FORGET = 0.01  # how often one of them is exchanged
TIMEOUT_S = 30.0

Question = dict[str, Any]


@dataclass
class Pins:
    """Which older versions are asked for: a few at a time, for each has to be built."""

    chance: Random
    kept: list[int] = field(default_factory=list)

    def one(self, head: int) -> int:
        if self.chance.random() < 0.5 or head < RECENT:
            return self.chance.randint(max(0, head - RECENT), head)
        if len(self.kept) < OLDER or self.chance.random() < FORGET:
            self.kept = [*self.kept[1 - OLDER :], self.chance.randint(0, head)]
        return self.chance.choice(self.kept)


class Asker:
    """run() until cancelled."""

    def __init__(self, http: httpx.AsyncClient, ears: Ears, pins: Pins, chance: Random) -> None:
        self._http, self._ears, self._pins, self._chance = http, ears, pins, chance

    async def run(self) -> None:
        while True:
            await asyncio.sleep(self._chance.expovariate(1 / PAUSE_S))
            try:
                await self._ask()
            except httpx.HTTPError as error:
                self._ears.broke(error)

    async def _ask(self) -> None:
        if self._chance.random() < 0.8:
            await self._one(self._question())
        else:
            await self.many([self._question() for _ in range(self._chance.randint(*BATCH))])

    def _question(self) -> Question:
        asked: Question = {"question": questions.some(self._chance)}
        kind, head = self._chance.random(), self._ears.journal.head
        if kind < 0.2:
            return asked | {"version": self._pins.one(head)}
        return asked | {"min_version": head} if kind < 0.5 else asked

    async def _one(self, asked: Question) -> None:
        sent, promise = self._ears.now, self._ears.promised(asked)
        reply = await self._http.post("/v1/answers", json=asked, timeout=TIMEOUT_S)
        if reply.status_code < OK:
            self._ears.answered(sent, asked, promise, reply.json())
        else:
            self._refused(reply)

    async def many(self, asked: list[Question]) -> None:
        sent, promises = self._ears.now, [self._ears.promised(one) for one in asked]
        reply = await self._http.post("/v1/answers/batch", json={"questions": asked}, timeout=TIMEOUT_S)
        if reply.status_code >= OK:
            self._refused(reply)
            return
        for one, promise, result in zip(asked, promises, reply.json()["results"], strict=True):
            self._heard(sent, one, promise, result)

    def _heard(self, sent: float, asked: Question, promise: Promise, result: Mapping[str, Any]) -> None:
        if result["answer"] is not None:
            self._ears.answered(sent, asked, promise, result["answer"])
        else:
            told = result["problem"]
            self._ears.refused(told["status"], told["code"], told["detail"])

    def _refused(self, reply: httpx.Response) -> None:
        told = problem(reply)
        if told is None:
            self._ears.odd(reply)
        else:
            self._ears.refused(reply.status_code, told["code"], told["detail"])
