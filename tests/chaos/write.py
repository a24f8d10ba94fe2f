"""One request that writes: sent with its key until the service reports its result.

What a caller does whose answer was lost: the same request with the same Idempotency-Key makes one commit, however
often it is sent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import httpx

from tests.chaos.journal import Intent, Journal
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
