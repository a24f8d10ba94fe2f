"""An editor that corrects, reverts, and sometimes rolls back; it waits until each request is settled."""

import asyncio
from dataclasses import dataclass
from itertools import count
from random import Random
from typing import Any

import httpx

from tests.chaos import questions
from tests.chaos.journal import Correction, Intent, Journal
from tests.chaos.recorder import OK, Recorder, problem

PAUSE_S = 0.25  # before the request is sent again
TIMEOUT_S = 60.0
PATHS = {"edit": "/admin/edits", "revert": "/admin/reverts", "rollback": "/admin/rollbacks"}
FINAL_CODES = frozenset({"nothing_to_do"})  # another editor has reverted it already


@dataclass(frozen=True)
class Write:
    """A write. wait: for all replicas, or for none."""

    intent: Intent
    wait: str = "all"

    def request(self, http: httpx.Client | httpx.AsyncClient) -> httpx.Request:
        headers = {"Idempotency-Key": self.intent.key}
        path = PATHS[self.intent.kind]
        return http.build_request("POST", path, json=self._body(), headers=headers, timeout=TIMEOUT_S)

    def _body(self) -> dict[str, Any]:
        intent, shared = self.intent, {"message": self.intent.key, "wait": self.wait}
        if intent.kind == "edit":
            return shared | {
                "edits": [_item(correction) for correction in intent.corrections],
                "method": intent.method,
            }
        return shared | {"version" if intent.kind == "revert" else "to": intent.target}

    def settle(self, reply: httpx.Response, journal: Journal, recorder: Recorder) -> bool:
        """Return whether the request is settled. An acknowledgement is in the journal then."""
        if reply.status_code < OK:
            receipt = reply.json()
            edits = [edit["id"] for edit in receipt["report"]["edits"]] if self.intent.kind == "edit" else []
            journal.acknowledge(self.intent, receipt["version"], receipt["all_applied"], edits, recorder.now)
            return True
        document = problem(reply)
        if document is None:
            recorder.record_unreadable(reply)
            return False
        if document["code"] in FINAL_CODES:
            return True
        recorder.record_refusal(reply.status_code, document["code"], document["detail"])
        return reply.status_code not in (httpx.codes.SERVICE_UNAVAILABLE, httpx.codes.TOO_MANY_REQUESTS)


def _item(correction: Any) -> dict[str, Any]:
    return {
        "question": correction.question,
        "answer": correction.answer,
        "paraphrases": list(correction.paraphrases),
    }


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
