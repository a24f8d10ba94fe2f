"""A replica that is not well says why, all the way to who looks."""

from __future__ import annotations

import os
import socket

import httpx
from errata.wire import ReplicaList

from service.ledger.store import RedisLedger


async def test_the_list_of_replicas_says_what_is_wrong_and_where(
    http: httpx.AsyncClient, ledger: RedisLedger
) -> None:
    ill = {"version": 0, "healthy": False, "degraded": "ledger_corrupt", "host": "errata-worker-b", "pid": 7}
    await ledger.heartbeat("toy-z", {"model": "toy", "checksums": {}, **ill})
    found = ReplicaList.model_validate_json((await http.get("/admin/replicas")).content).replicas
    assert [(one.healthy, one.degraded, one.host, one.pid) for one in found] == [
        (True, None, socket.gethostname(), os.getpid()),
        (False, "ledger_corrupt", "errata-worker-b", 7),
    ]
