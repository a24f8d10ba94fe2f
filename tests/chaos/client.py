"""A client that asks at its own pace, one question or many: the newest version, a least one, or an exact one."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from random import Random
from typing import Any

import httpx

from tests.chaos import questions
from tests.chaos.recorder import OK, Recorder, problem

PAUSE_S = 1.0  # on average, between two requests of one client
BATCH = (2, 12)
RECENT = 6  # versions that a replica still keeps
OLDER = 5  # versions that are pinned again and again, as by links of a report
FORGET = 0.01  # chance that one of them is exchanged
TIMEOUT_S = 30.0

Question = dict[str, Any]


@dataclass
class Pins:
    """The older versions to ask for: a few at a time, because each has to be built."""

    chance: Random
    recurring: list[int] = field(default_factory=list)

    def choose(self, head: int) -> int:
        if self.chance.random() < 0.5 or head < RECENT:
            return self.chance.randint(max(0, head - RECENT), head)
        if len(self.recurring) < OLDER or self.chance.random() < FORGET:
            self.recurring = [*self.recurring[1 - OLDER :], self.chance.randint(0, head)]
        return self.chance.choice(self.recurring)


class Client:
    """run() until cancelled. model: that it asks."""

    def __init__(
        self, http: httpx.AsyncClient, recorder: Recorder, pins: Pins, chance: Random, model: str
    ) -> None:
        self._http, self._recorder, self._pins, self._chance = http, recorder, pins, chance
        self._model = model

    async def run(self) -> None:
        while True:
            await asyncio.sleep(self._chance.expovariate(1 / PAUSE_S))
            try:
                await self._ask()
            except httpx.HTTPError as error:
                self._recorder.record_break(error)

    async def _ask(self) -> None:
        if self._chance.random() < 0.8:
            await self._ask_one(self._question())
        else:
            await self.ask_many([self._question() for _ in range(self._chance.randint(*BATCH))])

    def _question(self) -> Question:
        question: Question = {"question": questions.choose(self._chance)}
        kind, head = self._chance.random(), self._recorder.journal.head
        if kind < 0.2:
            return question | {"version": self._pins.choose(head)}
        return question | {"min_version": head} if kind < 0.5 else question

    async def _ask_one(self, question: Question) -> None:
        sent_s, promise = self._recorder.now, self._recorder.promise_for(question)
        body = {**question, "model": self._model}
        reply = await self._http.post("/v1/answers", json=body, timeout=TIMEOUT_S)
        if reply.status_code < OK:
            self._recorder.record_answer(sent_s, question, promise, reply.json())
        else:
            self._record_refusal(reply)

    async def ask_many(self, batch: list[Question]) -> None:
        sent_s, promises = self._recorder.now, [self._recorder.promise_for(question) for question in batch]
        items = [{**question, "model": self._model} for question in batch]
        reply = await self._http.post("/v1/answers/batch", json={"questions": items}, timeout=TIMEOUT_S)
        if reply.status_code >= OK:
            self._record_refusal(reply)
            return
        results = reply.json()["results"]
        self._recorder.record_batch(batch, [result["answer"] for result in results])
        for question, promise, result in zip(batch, promises, results, strict=True):
            if result["answer"] is not None:
                self._recorder.record_answer(sent_s, question, promise, result["answer"])
            else:
                document = result["problem"]
                self._recorder.record_refusal(document["status"], document["code"], document["detail"])

    def _record_refusal(self, reply: httpx.Response) -> None:
        document = problem(reply)
        if document is None:
            self._recorder.record_unreadable(reply)
        else:
            self._recorder.record_refusal(reply.status_code, document["code"], document["detail"])
