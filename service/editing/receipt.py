"""The answer to who asked for a change: what was committed, and which replicas have it."""

from __future__ import annotations

import json
from typing import Any

from service.editing.acknowledge import acknowledged
from service.editing.stopwatch import Stopwatch
from service.editing.writer import Written
from service.ledger.store import Ledger
from service.replicas.outcome import Outcome


async def receipt(
    ledger: Ledger, written: Written, kind: str, watch: Stopwatch, limit_s: float | None
) -> Outcome:
    """The wire's EditReceipt: 200 for a dry run, 201 for a commit, 202 when not every replica confirmed in time.

    limit_s: how long to wait for the replicas; None does not.
    """
    if written.commit is None:
        return Outcome.ok(_body(None, kind, written, watch, [], False), 200)
    if limit_s is None:
        watch.publish()
        return Outcome.ok(_body(written.commit.version, kind, written, watch, [], False), 201)
    with watch.part("replicas"):
        live, all_applied = await acknowledged(ledger, written.commit.version, limit_s)
    watch.publish()
    replicas = [one.model_dump(mode="json") for one in live]
    body = _body(written.commit.version, kind, written, watch, replicas, all_applied)
    return Outcome.ok(body, 201 if all_applied else 202)


def _body(
    version: int | None,
    kind: str,
    written: Written,
    watch: Stopwatch,
    replicas: list[dict[str, Any]],
    all_applied: bool,
) -> bytes:
    report = {**written.report, "timings": watch.timings().model_dump(mode="json")}
    return json.dumps(
        {
            "version": version,
            "kind": kind,
            "report": report,
            "replicas": replicas,
            "all_applied": all_applied,
        }
    ).encode()
