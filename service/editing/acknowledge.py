"""Who has the new version: read from the heartbeats, which every replica sends at once when it has swapped."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from time import monotonic
from typing import Any

from errata.wire import ReplicaState

from service.errors import LedgerUnavailable
from service.ledger.store import Ledger

LIVE_S = 3.5  # a heartbeat is due every second; who missed three is neither listed nor waited for
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.002, 0.02


async def living(ledger: Ledger, head: int) -> list[ReplicaState]:
    """Sorted by name. head: the version they should have."""
    found = await ledger.replicas()
    return [_state(name, beat, head) for name, beat in sorted(found.items()) if beat["seen_s_ago"] < LIVE_S]


async def acknowledged(
    ledger: Ledger, version: int, expected: Mapping[str, int], limit_s: float
) -> tuple[list[ReplicaState], bool]:
    """Wait until every live replica has `version`: those as they are then, and whether all have it.

    expected: how many replicas each model should have. Fewer are not all: a silent one may still answer.
    """
    seen: list[ReplicaState] = []
    deadline, pause_s = monotonic() + limit_s, FIRST_PAUSE_S
    while True:
        try:
            seen = await living(ledger, version)
        except LedgerUnavailable:
            return seen, False
        if _all(seen, version, expected):
            return seen, True
        if monotonic() >= deadline:
            return seen, False
        await asyncio.sleep(pause_s)
        pause_s = min(1.5 * pause_s, LONGEST_PAUSE_S)


def _all(seen: Sequence[ReplicaState], version: int, expected: Mapping[str, int]) -> bool:
    there = Counter(one.model for one in seen)
    return all(one.version >= version for one in seen) and all(
        there[model] >= count for model, count in expected.items()
    )


def _state(name: str, beat: Mapping[str, Any], head: int) -> ReplicaState:
    return ReplicaState.model_validate({**beat, "replica": name, "lag": max(0, head - beat["version"])})
