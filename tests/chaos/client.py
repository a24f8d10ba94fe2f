"""Clients at their own pace: of questions, of an imported graph of 100,000 triples, and a stranger without a key.

A client asks for the newest version, a least one, or an exact one; no answer may have the value of another subject.
"""

import asyncio
import json
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
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


RELATIONS = ("capital", "currency")
N_SUBJECTS = 50_000
GRAPH_PAUSE_S = 0.5  # on average, between two questions of one asker
SYLLABLES = ("ba", "do", "fe", "gi", "ka", "lu", "mo", "ne", "pi", "ra", "so", "tu", "va", "we", "zi")


def _names() -> list[str]:
    """Draw names that can be pronounced, none of which is a word."""
    words = ["".join(syllables).capitalize() for syllables in product(SYLLABLES, repeat=4)]
    Random("names").shuffle(words)
    return words[:N_SUBJECTS]


SUBJECTS = _names()


def fact(subject: str, relation: str) -> str:
    return f"{subject}{'ville' if relation == 'capital' else ' crown'}"


def write_triples(path: Path) -> None:
    triples = (
        f"{subject}\t{relation}\t{fact(subject, relation)}\n"
        for subject in SUBJECTS
        for relation in RELATIONS
    )
    path.write_text("".join(triples), encoding="utf-8")


class GraphAsker:
    """run() until cancelled."""

    def __init__(self, http: httpx.AsyncClient, recorder: Recorder, chance: Random) -> None:
        self._http, self._recorder, self._chance = http, recorder, chance

    async def run(self) -> None:
        while True:
            await asyncio.sleep(self._chance.expovariate(1 / GRAPH_PAUSE_S))
            subject, relation = self._chance.choice(SUBJECTS), self._chance.choice(RELATIONS)
            question = {"question": f"What is the {relation} of {subject}?", "model": "kbert"}
            try:
                reply = await self._http.post("/v1/answers", json=question, timeout=TIMEOUT_S)
            except httpx.HTTPError as error:
                self._recorder.record_break(error)
            else:
                self._record(reply, subject, relation)

    def _record(self, reply: httpx.Response, subject: str, relation: str) -> None:
        if reply.status_code < OK:
            self._recorder.record_fact(subject, relation, reply.json()["answer"], fact(subject, relation))
        elif (document := problem(reply)) is not None:
            self._recorder.record_refusal(reply.status_code, document["code"], document["detail"])
        else:
            self._recorder.record_unreadable(reply)


STRANGER_PAUSE_S = 0.2  # on average, between two requests
SLOW_HEADERS_S = 4.0  # for one connection, of which few are open at once
REFUSED = frozenset({401, 403, 404, 405, 408, 413, 415, 421, 422, 429, 431, 503})
MANY_FIELDS = json.dumps({str(field): 1 for field in range(50_000)})
DEEP = "[" * 100_000


class UnknownEntity:
    """A stranger; call run() and cancel it. Any answer that is not a refusal is recorded as admitted."""

    def __init__(self, http: httpx.AsyncClient, recorder: Recorder, chance: Random) -> None:
        self._http, self._recorder, self._chance = http, recorder, chance

    async def run(self) -> None:
        acts = [self._send_body, self._send_wrong_key, self._send_slow_headers]
        while True:
            await asyncio.sleep(self._chance.expovariate(1 / STRANGER_PAUSE_S))
            with suppress(OSError, httpx.HTTPError):  # being cut off is expected
                await self._chance.choice(acts)()

    async def _send_body(self) -> None:
        body = self._chance.choice([MANY_FIELDS, DEEP])
        path = self._chance.choice(
            ["/v1/answers", "/v1/answers/batch", "/v1/chat/completions", "/admin/edits"]
        )
        await self._send("POST", path, content=body, headers={"content-type": "application/json"})

    async def _send_wrong_key(self) -> None:
        key = {"authorization": f"Bearer errata_nobody_{self._chance.getrandbits(64):x}"}
        path = self._chance.choice(
            ["/v1/memory", "/admin/audit", "/admin/keys", f"/admin/{self._chance.random()}"]
        )
        await self._send("GET", path, headers=key)

    async def _send(self, method: str, path: str, **options: Any) -> None:
        reply = await self._http.request(method, path, timeout=TIMEOUT_S, **options)
        if reply.status_code not in REFUSED:
            self._recorder.record_stranger(f"{method} {path}", reply.status_code)

    async def _send_slow_headers(self) -> None:
        url = self._http.base_url
        reader, writer = await asyncio.open_connection(url.host, url.port)
        try:
            async with asyncio.timeout(SLOW_HEADERS_S):
                writer.write(b"GET /healthz HTTP/1.1\r\n")
                while not reader.at_eof():
                    writer.write(b"x-header: " + 1_000 * b"x" + b"\r\n")
                    await writer.drain()
                    await asyncio.sleep(0.1)
        except TimeoutError:
            pass
        finally:
            writer.close()
