"""A replica follows the ledger, starts from a snapshot, and tells that it lives."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import cast

import pytest
import redis

from service.concurrency import cancel_and_wait
from service.ledger import keys
from service.ledger.commit import Commit
from service.ledger.store import RedisLedger
from service.replicas.backlog import Backlog
from service.replicas.follower import LedgerFollower
from service.replicas.snapshot import Snapshot, SnapshotHistory, SnapshotLoader
from tests.service.ledger.writing import SLOTS, SlotMemory, Writer, fill
from tests.service.parts import PATIENCE_S, run_ready, wait_until


class Building:
    """Counts builds, which wait for `go_on`."""

    def __init__(self) -> None:
        self.now, self.max_at_once = 0, 0
        self.builds: Counter[int] = Counter()
        self.go_on = asyncio.Event()

    async def at(self, version: int) -> Snapshot:
        self.now += 1
        self.max_at_once = max(self.max_at_once, self.now)
        try:
            await self.go_on.wait()
        finally:
            self.now -= 1
        self.builds[version] += 1
        return Snapshot(version, "", {}, {})


@pytest.fixture
def building() -> Building:
    return Building()


@pytest.fixture
def history(building: Building) -> SnapshotHistory:
    return SnapshotHistory(cast(SnapshotLoader, building), size=8)


async def test_no_more_than_two_are_built_at_a_time(building: Building, history: SnapshotHistory) -> None:
    asking = asyncio.gather(*(history.at(version) for version in range(20)))
    await run_ready()
    building.go_on.set()
    assert [snapshot.version for snapshot in await asking] == list(range(20))
    assert building.max_at_once == 2


async def test_concurrent_requests_for_a_version_build_it_once(
    building: Building, history: SnapshotHistory
) -> None:
    asking = asyncio.gather(*(history.at(version % 4) for version in range(40)))
    await run_ready()
    building.go_on.set()
    assert len(await asking) == 40
    assert set(building.builds.values()) == {1}


async def test_a_cancelled_request_leaves_nothing_to_build(
    building: Building, history: SnapshotHistory
) -> None:
    hasty = [asyncio.create_task(history.at(version)) for version in range(20)]
    await run_ready()
    for task in hasty:
        task.cancel()
    await asyncio.wait(hasty)
    assert building.now == 0
    building.go_on.set()
    assert (await asyncio.wait_for(history.at(7), PATIENCE_S)).version == 7
    assert building.builds == {7: 1}


async def test_rows_that_another_snapshot_holds_are_not_read_again(
    ledger: RedisLedger, raw: redis.Redis
) -> None:
    writer = await fill(ledger, 6)
    loader = SnapshotLoader(ledger, [SlotMemory()])  # type: ignore[arg-type]
    newest = await loader.at(6)
    raw.config_resetstat()
    old = await loader.at(4)
    assert "cmdstat_mget" not in raw.info("commandstats")
    assert old.images[SLOTS].checksum == writer.history[4][SLOTS].checksum
    assert all(block is newest.images[SLOTS].blocks[key] for key, block in old.images[SLOTS].blocks.items())


async def test_rows_of_dropped_snapshots_are_not_cached(ledger: RedisLedger, raw: redis.Redis) -> None:
    await fill(ledger, 3)
    loader = SnapshotLoader(ledger, [SlotMemory()])  # type: ignore[arg-type]
    for version in (1, 2, 3):
        await loader.at(version)
    await asyncio.sleep(0)  # the event loop lets go of the last result
    raw.config_resetstat()
    await loader.at(3)
    assert "cmdstat_mget" in raw.info("commandstats")


class Clock:
    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_a_replica_at_the_newest_version_is_not_behind(clock: Clock) -> None:
    backlog = Backlog(clock)
    assert [backlog.measure(version, version) for version in (0, 7)] == [0, 0]


def test_a_replica_that_is_stuck_falls_behind_by_the_age_of_the_first_commit(clock: Clock) -> None:
    backlog = Backlog(clock)
    for seconds in range(10):
        clock.now_s = 100.0 + seconds
        assert backlog.measure(3, 4 + seconds) == seconds


def test_a_replica_that_applies_each_commit_in_time_is_never_far_behind_however_many_come(
    clock: Clock,
) -> None:
    backlog = Backlog(clock)
    for seconds in range(100):
        clock.now_s = 100.0 + seconds
        assert backlog.measure(seconds, seconds + 2) <= 2


def test_a_replica_that_caught_up_begins_anew(clock: Clock) -> None:
    backlog = Backlog(clock)
    backlog.measure(0, 1)
    clock.now_s += 60
    assert (backlog.measure(0, 1), backlog.measure(1, 1), backlog.measure(1, 2)) == (60, 0, 0)


@asynccontextmanager
async def follow(ledger: RedisLedger) -> AsyncIterator[LedgerFollower]:
    loader = SnapshotLoader(ledger, [SlotMemory()])  # type: ignore[arg-type]
    tail = LedgerFollower(
        ledger, loader, await loader.at(await ledger.head()), lambda snapshot, seconds: None
    )
    task = asyncio.create_task(tail.run())
    try:
        yield tail
    finally:
        await cancel_and_wait([task])


def replace_ledger(raw: redis.Redis, commits: list[Commit]) -> None:
    pipeline = raw.pipeline(transaction=True)
    pipeline.delete(keys.LOG)
    for commit in commits:
        pipeline.xadd(keys.LOG, {"commit": commit.encoded, "digest": commit.digest}, id=f"{commit.version}-0")
    pipeline.execute()


@pytest.mark.parametrize("count", [2, 3, 4], ids=["shorter", "as long", "longer"])
async def test_another_ledger_in_the_place_of_the_known_one_is_noticed_and_not_applied(
    ledger: RedisLedger, raw: redis.Redis, count: int
) -> None:
    await fill(ledger, 3)
    async with follow(ledger) as tail:
        newest, stranger = tail.newest, Writer(name="stranger")
        replace_ledger(raw, [stranger.edit()[0] for _ in range(count)])
        await wait_until(lambda: tail.degraded is not None)
        assert tail.degraded == "ledger_corrupt"
        assert tail.newest is newest


async def test_what_is_committed_to_the_known_ledger_is_applied(ledger: RedisLedger) -> None:
    writer = await fill(ledger, 3)
    async with follow(ledger) as tail:
        for _ in range(2):
            commit, blocks = writer.edit()
            await ledger.append(commit, blocks)
            assert await tail.reach(commit.version, 5.0)
            assert (tail.newest.digest, tail.degraded) == (commit.digest, None)
