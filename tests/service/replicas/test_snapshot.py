"""Old versions cost little: few are built at a time, once each, from cached rows."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import cast

import pytest
import redis

from service.ledger.store import RedisLedger
from service.replicas.follower import Snapshot, SnapshotHistory, SnapshotLoader
from tests.service.ledger.writing import SLOTS, SlotMemory, fill
from tests.service.parts import PATIENCE_S, run_ready


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
