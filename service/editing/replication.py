"""The state of the replicas: waits for a commit to reach them, builds the receipt, and publishes their figures.

Every replica sends a heartbeat to the ledger as soon as it has swapped. Replicas of other machines write to other
metrics pages, and a stopped one writes to none; the ledger hears from all of them, so the editor publishes for all.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any

from errata.wire import ReplicaState

from service.editing.figures import Timings
from service.editing.pipeline import REQUEST, Result
from service.errors import LedgerUnavailable
from service.ledger.store import RedisLedger
from service.metrics import metrics
from service.outcome import Outcome

log = logging.getLogger(__name__)

LIVE_S = 3.5  # a heartbeat is due every second; a replica that missed three is neither listed nor waited for
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.002, 0.02
WATCH_PERIOD_S = 2.0


@dataclass(frozen=True)
class AckPolicy:
    """The time limit for the replicas, and the expected number of each model's."""

    limit_s: float
    expected: Mapping[str, int]


async def live_replicas(ledger: RedisLedger, head: int) -> list[ReplicaState]:
    """List the live replicas by name; their lag is counted from version `head`."""
    heartbeats = await ledger.replicas()
    return [
        ReplicaState.model_validate({**beat, "replica": name, "lag": max(0, head - beat["version"])})
        for name, beat in sorted(heartbeats.items())
        if beat["seen_s_ago"] < LIVE_S
    ]


async def wait_for_replicas(
    ledger: RedisLedger, version: int, patience: AckPolicy
) -> tuple[list[ReplicaState], bool]:
    """Return the live replicas as soon as all have `version`, or after the limit, and whether all have it.

    Fewer replicas than expected are not all: a silent one may still answer.
    """
    live: list[ReplicaState] = []
    deadline, pause_s = monotonic() + patience.limit_s, FIRST_PAUSE_S
    while True:
        try:
            live = await live_replicas(ledger, version)
        except LedgerUnavailable:
            return live, False
        counts = Counter(replica.model for replica in live)
        are_all_there = all(counts[model] >= count for model, count in patience.expected.items())
        if are_all_there and all(replica.version >= version for replica in live):
            return live, True
        if monotonic() >= deadline:
            return live, False
        await asyncio.sleep(pause_s)
        pause_s = min(1.5 * pause_s, LONGEST_PAUSE_S)


async def receipt(
    ledger: RedisLedger,
    result: Result,
    kind: str,
    timings: Timings,
    patience: AckPolicy | None,
    find_report: Callable[[int, Mapping[str, Any]], Awaitable[Mapping[str, Any]]],
) -> Outcome:
    """Return the wire's EditReceipt: 200 for a dry run, 201 for a commit, 202 if a replica did not confirm in time.

    Args:
        patience: How long to wait for the replicas; None does not wait.
        find_report: Returns the report of a version as far as it is known.
    """
    version = None if result.commit is None else result.commit.version
    live: list[ReplicaState] = []
    all_applied, status = False, 200 if version is None else 201
    if version is not None and patience is not None:
        with timings.part("replicas"):
            live, all_applied = await wait_for_replicas(ledger, version, patience)
        status = 201 if all_applied else 202
    if version is not None:
        timings.publish()
    report = dict(result.report if version is None else await find_report(version, result.report))
    later_ms = report["timings"].get("later_ms", 0.0)
    report["timings"] = timings.to_wire().model_dump(mode="json") | {"later_ms": later_ms}
    report.pop(REQUEST, None)
    body: dict[str, Any] = {
        "version": version,
        "kind": kind,
        "report": report,
        "replicas": [replica.model_dump(mode="json") for replica in live],
        "all_applied": all_applied,
        **result.extra,
    }
    return Outcome.ok(json.dumps(body).encode(), status, version)


async def watch_replicas(ledger: RedisLedger, expected: Mapping[str, int]) -> None:
    """Publish the replicas' figures for ever. While no heartbeat can be read, the figures stay."""
    is_up = True
    while True:
        try:
            head = await ledger.head()
            live = await live_replicas(ledger, head)
            metrics.LEDGER_VERSION.labels("errata").set(head)
            for model, count in expected.items():
                replicas = [replica for replica in live if replica.model == model]
                ready = [replica for replica in replicas if replica.healthy and replica.version >= head]
                for state, value in {"expected": count, "live": len(replicas), "ready": len(ready)}.items():
                    metrics.REPLICAS.labels(model, state).set(value)
                metrics.DISAGREEING.labels(model).set(count_disagreeing(replicas))
            is_up = True
        except Exception as error:  # whatever the error is, the next attempt may succeed
            if is_up:
                log.warning("the replicas cannot be counted: %s", error)
            is_up = False
        metrics.LEDGER_UP.labels("editor").set(is_up)
        await asyncio.sleep(WATCH_PERIOD_S)


def count_disagreeing(replicas: Sequence[ReplicaState]) -> int:
    """Count the replicas whose rows differ from those of most replicas of the same version."""
    holders: dict[int, Counter[tuple[tuple[str, str], ...]]] = {}
    for replica in replicas:
        holders.setdefault(replica.version, Counter())[tuple(sorted(replica.checksums.items()))] += 1
    return sum(counts.total() - max(counts.values()) for counts in holders.values())
