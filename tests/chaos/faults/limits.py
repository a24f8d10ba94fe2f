"""A commit that is too large for the service, or for its Redis."""

import httpx

from tests.chaos.editor import Write
from tests.chaos.journal import Correction, Intent
from tests.chaos.recorder import problem
from tests.chaos.scene import Fault, Scene

MAX_BYTES = 20_000_000
LIMIT = "proto-max-bulk-len"
SMALLEST_LIMIT = 1_048_576  # the smallest limit that Valkey accepts
LONG_TEXT, MANY_WORDINGS, MANY_EDITS = 1_900, 20, 30


def _body(scene: Scene) -> None:
    head = scene.journal.head
    intent = Intent("edit", (Correction("What is too large?", "x" * MAX_BYTES),))
    with scene.http() as http:
        reply = http.send(Write(intent).request(http))
    document = problem(reply)
    scene.expect(
        reply.status_code == 413 and document is not None and document["code"] == "too_large", "413 too_large"
    )
    scene.expect(scene.journal.head >= head, "the ledger goes on")


def _value(scene: Scene) -> None:
    """Send a large value; Redis closes a connection that sends more than its limit."""
    with scene.life.redis() as redis:
        usual = redis.config_get(LIMIT)[LIMIT]
        redis.config_set(LIMIT, SMALLEST_LIMIT)
        try:
            _send(scene, _long())
        finally:
            redis.config_set(LIMIT, usual)


def _send(scene: Scene, intent: Intent) -> None:
    scene.journal.begin(intent)
    with scene.http() as http:
        reply = http.send(Write(intent).request(http))
    document = problem(reply)
    is_refused = document is not None and reply.status_code in (httpx.codes.SERVICE_UNAVAILABLE, 413)
    scene.expect(is_refused, f"a commit that Redis does not take is refused, and not {reply.status_code}")
    scene.note(
        f"a commit above Redis' {LIMIT}: {reply.status_code} "
        f"{document and document['code']}: {document and document['detail']}"
    )


def _long() -> Intent:
    """Above SMALLEST_LIMIT by its wordings."""
    return Intent(
        "edit", tuple(Correction(f"Long {n}?", f"long {n}", tuple(_wordings(n))) for n in range(MANY_EDITS))
    )


def _wordings(edit: int) -> list[str]:
    return [f"{edit} {number} {'x' * LONG_TEXT}" for number in range(MANY_WORDINGS)]


BODY = Fault("body", f"a commit of more than {MAX_BYTES:,} bytes", _body)
VALUE = Fault("value", f"a commit longer than Redis' {LIMIT}", _value)
