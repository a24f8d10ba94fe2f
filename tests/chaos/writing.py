"""One request that writes: sent with its key until the service says what became of it.

What a caller does whose answer was lost: the same request with the same Idempotency-Key makes one commit, however
often it is sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx

from tests.chaos.heard import OK, Ears, problem
from tests.chaos.journal import Intent, Journal

PAUSE_S = 0.25  # before it is sent again
TIMEOUT_S = 60.0
PATHS = {"edit": "/admin/edits", "revert": "/admin/reverts", "rollback": "/admin/rollbacks"}
REFUSED = frozenset({"nothing_to_do"})  # another editor has taken it back already


@dataclass(frozen=True)
class Writing:
    """wait: for all replicas, or for none."""

    intent: Intent
    wait: str = "all"

    def request(self, http: httpx.Client | httpx.AsyncClient) -> httpx.Request:
        headers = {"Idempotency-Key": self.intent.key}
        path = PATHS[self.intent.kind]
        return http.build_request("POST", path, json=self._body(), headers=headers, timeout=TIMEOUT_S)

    def _body(self) -> dict[str, Any]:
        intent, shared = self.intent, {"message": self.intent.key, "wait": self.wait}
        if intent.kind == "edit":
            return shared | {"edits": [_item(one) for one in intent.corrections], "method": intent.method}
        return shared | {"version" if intent.kind == "revert" else "to": intent.target}

    def settled(self, reply: httpx.Response, journal: Journal, ears: Ears) -> bool:
        """Whether there is no use in sending it again. What was acknowledged is in the journal then."""
        if reply.status_code < OK:
            said = reply.json()
            edits = [one["id"] for one in said["report"]["edits"]] if self.intent.kind == "edit" else []
            journal.acknowledge(self.intent, said["version"], said["all_applied"], edits, ears.now)
            return True
        told = problem(reply)
        if told is None:
            ears.odd(reply)
            return False
        return self._refused(reply.status_code, told, ears)

    def _refused(self, status: int, told: Mapping[str, Any], ears: Ears) -> bool:
        if told["code"] in REFUSED:
            return True
        ears.refused(status, told["code"], told["detail"])
        return status not in (httpx.codes.SERVICE_UNAVAILABLE, httpx.codes.TOO_MANY_REQUESTS)


def _item(correction: Any) -> dict[str, Any]:
    return {
        "question": correction.question,
        "answer": correction.answer,
        "paraphrases": list(correction.paraphrases),
    }
