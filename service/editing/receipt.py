"""The answer to who asked for a change: what was committed, and which replicas have it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from service.editing.acknowledge import acknowledged
from service.editing.writer import Written
from service.ledger.store import Ledger
from service.measuring.stopwatch import Stopwatch
from service.replicas.outcome import Outcome


@dataclass(frozen=True)
class Patience:
    """How long to wait for the replicas, and how many there should be of each model."""

    limit_s: float
    expected: Mapping[str, int]


async def receipt(
    ledger: Ledger,
    written: Written,
    kind: str,
    watch: Stopwatch,
    patience: Patience | None,
) -> Outcome:
    """The wire's EditReceipt: 200 for a dry run, 201 for a commit, 202 when not every replica confirmed in time.

    patience: None does not wait.
    """
    if written.commit is None:
        return Outcome.ok(_body(None, kind, written, watch, [], False), 200)
    if patience is None:
        watch.publish()
        version = written.commit.version
        return Outcome.ok(_body(version, kind, written, watch, [], False), 201, version)
    with watch.part("replicas"):
        version, limit_s = written.commit.version, patience.limit_s
        live, all_applied = await acknowledged(ledger, version, patience.expected, limit_s)
    watch.publish()
    replicas = [one.model_dump(mode="json") for one in live]
    body = _body(written.commit.version, kind, written, watch, replicas, all_applied)
    return Outcome.ok(body, 201 if all_applied else 202, version)


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
            **written.more,
        }
    ).encode()
