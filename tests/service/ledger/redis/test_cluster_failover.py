"""A node that dies, freezes or hands over costs some calls, which fail in time, and no commit that it had copied."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from service.errors import LedgerUnavailable
from service.ledger.store import RedisLedger
from tests.service.ledger.processes import frozen, kill
from tests.service.ledger.redis.clusters import LocalCluster, until
from tests.service.ledger.redis.test_connection import CALLS, SLACK_S
from tests.service.ledger.test_crash import Session
from tests.service.ledger.writing import BASES, Writer, fill
from tests.service.parts import stopwatch

LIMIT_S = 1.0
TAKEOVER_S = 60.0  # one second to detect it, one for the election, and more for a busy machine


@pytest.fixture
async def ledger(own_cluster: LocalCluster) -> AsyncIterator[RedisLedger]:
    ledger = RedisLedger.connect(own_cluster.other_masters[0].url, limit_s=LIMIT_S)
    yield ledger
    await ledger.aclose()


async def wait_for_answer(ledger: RedisLedger) -> None:
    """Call until the ledger answers again; calls meanwhile fail cleanly, and in time."""
    async with stopwatch() as seconds:
        while True:
            call_start_s = seconds()
            try:
                await ledger.head()
                return
            except LedgerUnavailable:
                assert seconds() - call_start_s < LIMIT_S + SLACK_S
                assert seconds() < TAKEOVER_S
                await asyncio.sleep(0.05)


async def test_a_master_killed_loses_no_commit_that_its_replica_had(
    own_cluster: LocalCluster, ledger: RedisLedger
) -> None:
    session = Session()
    writing = asyncio.create_task(session.write(ledger))
    for _ in range(5):
        await session.progress.acquire()
    replicated_commits = list(session.acks)
    await asyncio.to_thread(until, own_cluster.is_replicated)
    waiting = asyncio.create_task(ledger.wait(10**6, 1.0))
    await asyncio.to_thread(kill, own_cluster.master.process.pid)
    for broken in (writing, waiting):
        with pytest.raises(LedgerUnavailable):
            await broken
    await wait_for_answer(ledger)
    commits = await ledger.read(0)
    assert commits[: len(replicated_commits)] == replicated_commits
    session.forget_unacknowledged(len(commits))
    wake = asyncio.create_task(ledger.wait(len(commits), 1.0))
    assert await ledger.append(*session.writer.edit()) == len(commits) + 1
    assert await wake
    assert any("has no replica" in warning for warning in (await ledger.check()).warnings)


async def test_a_master_that_hands_over_loses_nothing_and_is_followed(
    own_cluster: LocalCluster, ledger: RedisLedger
) -> None:
    writer = await fill(ledger, 3)
    own_cluster.replica.say("CLUSTER FAILOVER")
    await asyncio.to_thread(until, own_cluster.has_taken_over)
    # No call had to fail: MOVED names the new node.
    assert await ledger.append(*writer.edit()) == 4
    await ledger.put_manifest(4, writer.history[-1])
    assert await ledger.read(0) == writer.commits
    assert await ledger.wait(3, 1.0)
    assert own_cluster.replica.say("INFO", "replication")["role"] == "master"


async def test_a_frozen_master_holds_no_call_longer_than_its_limit_and_is_succeeded(
    own_cluster: LocalCluster, ledger: RedisLedger
) -> None:
    writer = await fill(ledger, 2)
    await asyncio.to_thread(until, own_cluster.is_replicated)
    with frozen(own_cluster.master.process.pid):
        async with stopwatch() as seconds:
            results = await asyncio.gather(*(ledger.head() for _ in range(500)), return_exceptions=True)
            assert seconds() < LIMIT_S + SLACK_S
        assert {type(result) for result in results} <= {LedgerUnavailable, int}
        await wait_for_answer(ledger)
        assert await ledger.append(*writer.edit()) == 3
    for _ in range(20):  # after it thaws, the old master learns that it is none
        assert await ledger.read(0) == writer.commits
        await asyncio.sleep(0.05)


async def test_a_cluster_in_state_fail_is_named_and_one_that_is_gone_is_said_so_by_every_call(
    own_cluster: LocalCluster, ledger: RedisLedger
) -> None:
    await ledger.append(*Writer().edit())
    kill(own_cluster.other_masters[0].process.pid)
    await asyncio.to_thread(until, lambda: own_cluster.master.say("CLUSTER INFO")["cluster_state"] == "fail")
    for doing in (ledger.check, ledger.head, lambda: ledger.put_manifest(0, BASES)):
        with pytest.raises(LedgerUnavailable, match=r"its cluster is in state fail.*see CLUSTER INFO"):
            await doing()
    for node in own_cluster.nodes:
        node.stop()
    for name, call in CALLS.items():
        async with stopwatch() as seconds:
            with pytest.raises(LedgerUnavailable, match="the ledger at redis://") as error:
                await call(ledger)
            assert error.value.__cause__ is not None, name
            assert seconds() < LIMIT_S + SLACK_S, name
