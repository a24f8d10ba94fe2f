"""A receipt names the replicas that have its version and waits for the live ones within a timeout; all are counted."""

import asyncio
from time import monotonic
from typing import Any

import pytest
import redis
from errata.wire import ReplicaList, ReplicaState

from service.concurrency import cancel_and_wait
from service.editing import replication
from service.editing.editor import Editor
from service.editing.operations import ListReplicas
from service.editing.replication import count_disagreeing, watch_replicas
from service.ledger.embedded.server import EmbeddedValkey
from service.ledger.store import RedisLedger
from tests.service.editing.conftest import StartEditor
from tests.service.editing.requests import PERU, change
from tests.service.parts import PATIENCE_S, body_of, sample, stopwatch, wait_until

REPLICAS = "{errata}:replicas"


async def beat(ledger: RedisLedger, name: str, version: int, **fields: Any) -> None:
    status = {"replica": name, "model": "toy", "version": version, "checksums": {"toy/table": "sha256:0"}}
    await ledger.heartbeat(name, {**status, "lag": 0, "healthy": True, "applied_ms": None, **fields})


def age_heartbeat(raw: redis.Redis, name: str, seconds: float) -> None:
    """Make the last heartbeat older by so many seconds."""
    seen_at, _, payload = raw.hget(REPLICAS, name).partition(b" ")  # type: ignore[union-attr]
    raw.hset(REPLICAS, name, f"{float(seen_at) - seconds} ".encode() + payload)


async def test_every_replica_that_has_the_version_is_named(editor: Editor, ledger: RedisLedger) -> None:
    await beat(ledger, "toy-b", 1)
    await beat(ledger, "toy-a", 1)
    receipt = await change(editor, PERU, "Cusco", wait="all")
    assert (receipt["status"], receipt["all_applied"]) == (201, True)
    assert [replica["replica"] for replica in receipt["replicas"]] == ["toy-a", "toy-b"]


async def test_the_receipt_comes_when_the_last_replica_is_there(editor: Editor, ledger: RedisLedger) -> None:
    await beat(ledger, "toy-a", 1)
    await beat(ledger, "toy-b", 0)
    request = asyncio.create_task(change(editor, PERU, "Cusco", wait="all"))
    while await ledger.head() < 1:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.1)
    assert not request.done()
    await beat(ledger, "toy-b", 1)
    receipt = await request
    assert (receipt["status"], receipt["all_applied"]) == (201, True)
    assert receipt["report"]["timings"]["replicas_ms"] > 50


async def test_a_late_replica_gives_202_and_is_named(start_editor: StartEditor, ledger: RedisLedger) -> None:
    await beat(ledger, "toy-a", 1)
    await beat(ledger, "toy-b", 0)
    async with start_editor(ack_timeout_s=0.3) as editor, stopwatch() as seconds:
        started_at = monotonic()
        receipt = await change(editor, PERU, "Cusco", wait="all")
        assert monotonic() - started_at >= 0.3
        assert seconds() < 2
    assert (receipt["status"], receipt["version"], receipt["all_applied"]) == (202, 1, False)
    assert [(replica["replica"], replica["version"], replica["lag"]) for replica in receipt["replicas"]] == [
        ("toy-a", 1, 0),
        ("toy-b", 0, 1),
    ]


async def test_a_dead_replica_is_not_waited_for(
    editor: Editor, ledger: RedisLedger, raw: redis.Redis
) -> None:
    await beat(ledger, "toy-a", 1)
    await beat(ledger, "toy-dead", 0)
    age_heartbeat(raw, "toy-dead", 10)
    receipt = await change(editor, PERU, "Cusco", wait="all")
    assert (receipt["status"], [replica["replica"] for replica in receipt["replicas"]]) == (201, ["toy-a"])


async def test_fewer_replicas_than_expected_are_not_all(
    start_editor: StartEditor, ledger: RedisLedger
) -> None:
    async with start_editor(ack_timeout_s=0.2, replicas=2) as editor:
        with_none = await change(editor, PERU, "Cusco", wait="all")
        await beat(ledger, "toy-a", 2)
        with_one = await change(editor, PERU, "Puno", wait="all")
        await beat(ledger, "toy-a", 3)
        await beat(ledger, "toy-b", 3)
        with_two = await change(editor, PERU, "Tacna", wait="all")
    assert [(r["status"], r["all_applied"]) for r in (with_none, with_one, with_two)] == [
        (202, False),
        (202, False),
        (201, True),
    ]


async def test_wait_none_does_not_wait(editor: Editor, ledger: RedisLedger) -> None:
    await beat(ledger, "toy-a", 0)
    receipt = await change(editor, PERU, "Cusco", wait="none")
    assert (receipt["status"], receipt["all_applied"], receipt["replicas"]) == (201, False, [])
    assert receipt["report"]["timings"]["replicas_ms"] == 0


async def test_waiting_for_replicas_holds_no_other_edit_up(editor: Editor, ledger: RedisLedger) -> None:
    await beat(ledger, "toy-a", 0)
    waiting = asyncio.create_task(change(editor, PERU, "Cusco", wait="all"))
    while await ledger.head() < 1:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    assert (await change(editor, PERU, "Puno", wait="none"))["version"] == 2
    assert not waiting.done()
    await beat(ledger, "toy-a", 2)
    assert (await waiting)["version"] == 1


async def test_the_replicas_are_listed_with_how_far_they_are_behind(
    editor: Editor, ledger: RedisLedger, raw: redis.Redis
) -> None:
    await change(editor, PERU, "Cusco", wait="none")
    await beat(ledger, "toy-b", 0, healthy=False, degraded="ledger_corrupt")
    await beat(ledger, "toy-a", 1, applied_ms=2.5)
    await beat(ledger, "toy-dead", 1)
    age_heartbeat(raw, "toy-dead", 10)
    body = body_of(await editor.call(ListReplicas()))
    listing = ReplicaList.model_validate(body)
    assert listing.head == 1
    assert [
        (replica.replica, replica.lag, replica.healthy, replica.applied_ms) for replica in listing.replicas
    ] == [("toy-a", 0, True, 2.5), ("toy-b", 1, False, None)]


def replica_state(version: int, rows: str, healthy: bool = True) -> ReplicaState:
    fields = {"replica": "r", "model": "toy", "version": version, "checksums": {"toy/table": rows}}
    return ReplicaState.model_validate({**fields, "lag": 0, "healthy": healthy, "seen_s_ago": 0.0})


@pytest.mark.parametrize(
    ("replicas", "expected"),
    [
        ([], 0),
        ([replica_state(3, "a")], 0),
        ([replica_state(3, "a"), replica_state(3, "a"), replica_state(2, "b")], 0),
        ([replica_state(3, "a"), replica_state(3, "b")], 1),
        (
            [
                replica_state(3, "a"),
                replica_state(3, "b"),
                replica_state(3, "a"),
                replica_state(4, "c"),
                replica_state(4, "d"),
            ],
            2,
        ),
    ],
)
def test_replicas_with_other_rows_at_one_version_disagree(
    replicas: list[ReplicaState], expected: int
) -> None:
    assert count_disagreeing(replicas) == expected


async def test_replicas_are_counted_and_an_absent_ledger_is_reported(
    own_valkey: EmbeddedValkey, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replication, "WATCH_PERIOD_S", 0.02)
    ledger = RedisLedger.connect(own_valkey.url, PATIENCE_S)
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
