"""Wait until every living replica says that it has a version. Who lives is what the heartbeats say."""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import Any

from errata.wire import ReplicaState

from service.errors import LedgerUnavailable
from service.ledger.store import Ledger

ALIVE_S = 3.5  # a heartbeat comes every second
POLL_S = 0.003


async def living(ledger: Ledger) -> list[ReplicaState]:
    beats = await ledger.replicas()
    return [ReplicaState(**_wire(beat)) for _, beat in sorted(beats.items()) if beat["seen_s_ago"] < ALIVE_S]


async def all_at(ledger: Ledger, version: int, limit_s: float) -> tuple[list[ReplicaState], bool]:
    """The replicas as last seen, and whether all of them have the version. Ends within `limit_s`."""
    deadline = monotonic() + limit_s
    seen: list[ReplicaState] = []
    while True:
        try:
            seen = await living(ledger)
        except LedgerUnavailable:
            return seen, False
        if all(state.version >= version for state in seen):
            return seen, True
        if monotonic() > deadline:
            return seen, False
        await asyncio.sleep(POLL_S)


def _wire(beat: dict[str, Any]) -> dict[str, Any]:
    return {name: beat[name] for name in ReplicaState.model_fields if name in beat}
