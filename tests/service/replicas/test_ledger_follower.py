"""A replica follows its ledger and notices when another one replaces it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import redis

from service.concurrency import cancel_and_wait
from service.ledger import keys
from service.ledger.commit import Commit
from service.ledger.store import RedisLedger
from service.replicas.follower import LedgerFollower, SnapshotLoader
from tests.service.ledger.writing import SlotMemory, Writer, fill
from tests.service.parts import wait_until


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
