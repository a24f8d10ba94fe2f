"""An imported graph of 100,000 triples, and clients that ask about it; no answer may have another subject's value."""

from __future__ import annotations

import asyncio
from itertools import product
from pathlib import Path
from random import Random

import httpx

from tests.chaos.recorder import OK, Recorder, problem

RELATIONS = ("capital", "currency")
N_SUBJECTS = 50_000
PAUSE_S = 0.5  # on average, between two questions of one asker
TIMEOUT_S = 30.0
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
            await asyncio.sleep(self._chance.expovariate(1 / PAUSE_S))
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
