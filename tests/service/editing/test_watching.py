"""The editor counts the replicas of every model from their heartbeats, and says when it cannot."""

from __future__ import annotations

import asyncio

import pytest
from errata.wire import ReplicaState
from prometheus_client import REGISTRY

from service.concurrency import cancel_and_wait
from service.editing import replication
from service.editing.replication import count_disagreeing, watch_replicas
from service.ledger.embedded.server import EmbeddedValkey
from service.ledger.store import RedisLedger
from tests.service.parts import wait_until

FAST_S = 0.02


def state(version: int, rows: str, healthy: bool = True) -> ReplicaState:
    fields = {"replica": "r", "model": "toy", "version": version, "checksums": {"toy/table": rows}}
    return ReplicaState.model_validate({**fields, "lag": 0, "healthy": healthy, "seen_s_ago": 0.0})


@pytest.mark.parametrize(
    ("replicas", "expected"),
    [
        ([], 0),
        ([state(3, "a")], 0),
        ([state(3, "a"), state(3, "a"), state(2, "b")], 0),
        ([state(3, "a"), state(3, "b")], 1),
        ([state(3, "a"), state(3, "b"), state(3, "a"), state(4, "c"), state(4, "d")], 2),
    ],
)
def test_replicas_with_other_rows_at_one_version_disagree(
    replicas: list[ReplicaState], expected: int
) -> None:
    assert count_disagreeing(replicas) == expected


def sample(name: str, **labels: str) -> float | None:
    return REGISTRY.get_sample_value(name, labels)


async def test_replicas_are_counted_and_a_ledger_that_is_gone_is_told(
    own_valkey: EmbeddedValkey, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replication, "WATCH_PERIOD_S", FAST_S)
    ledger = RedisLedger.connect(own_valkey.url, 0.5)
    beat = {"model": "watched", "version": 0, "checksums": {"m": "a"}, "healthy": True}
    await ledger.heartbeat("w-1", beat)
    await ledger.heartbeat("w-2", {**beat, "healthy": False, "checksums": {"m": "b"}})
    watching_them = asyncio.create_task(watch_replicas(ledger, {"watched": 3}))
    try:
        await wait_until(lambda: sample("errata_replicas", model="watched", state="live") == 2)
        await wait_until(lambda: sample("errata_ledger_up", role="editor") == 1)
        assert sample("errata_replicas", model="watched", state="expected") == 3
        assert sample("errata_replicas", model="watched", state="ready") == 1
        assert sample("errata_replicas_disagreeing", model="watched") == 1
        own_valkey.stop()
        await wait_until(lambda: sample("errata_ledger_up", role="editor") == 0)
        assert sample("errata_replicas", model="watched", state="live") == 2  # as it was last seen
        own_valkey.start()
        await wait_until(lambda: sample("errata_ledger_up", role="editor") == 1)
    finally:
        await cancel_and_wait([watching_them])
        await ledger.aclose()
