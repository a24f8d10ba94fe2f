"""A key is read once a second at most, and goes on working while Redis is away, if it was seen before."""

import asyncio
import time

import pytest

from service.access import key_cache
from service.access.api_keys import ApiKey
from service.access.key_cache import MAX_NAMES, PATIENCE_S, REFRESH_AGE_S, KeyCache
from service.errors import LedgerUnavailable
from tests.service.access.conftest import Clock, MemoryStore
from tests.service.parts import stopwatch


@pytest.fixture
def cache(memory_store: MemoryStore, clock: Clock) -> KeyCache:
    memory_store.issue("anna", "ask")
    return KeyCache(memory_store.get, clock)


async def test_a_second_request_within_the_second_reads_nothing(
    cache: KeyCache, memory_store: MemoryStore, clock: Clock
) -> None:
    assert [await cache.get("anna") for _ in range(5)] == [memory_store.keys["anna"]] * 5
    assert memory_store.reads == 1
    clock.now += 1.0
    await cache.get("anna")
    assert memory_store.reads == 2


async def test_a_revoked_key_is_noticed_after_a_second_at_the_latest(
    cache: KeyCache, memory_store: MemoryStore, clock: Clock
) -> None:
    await cache.get("anna")
    key = memory_store.keys["anna"]
    memory_store.keys["anna"] = key.model_copy(update={"revoked": time.time()})
    clock.now += 1.0
    cached = await cache.get("anna")
    assert cached is not None
    assert cached.revoked is not None


async def test_a_key_that_was_changed_here_is_noticed_at_once(
    cache: KeyCache, memory_store: MemoryStore
) -> None:
    assert await cache.get("ben") is None
    memory_store.issue("ben", "ask")
    cache.forget("ben")
    assert await cache.get("ben") == memory_store.keys["ben"]


async def test_with_redis_gone_a_known_key_goes_on_and_an_unknown_one_is_told_why(
    cache: KeyCache, memory_store: MemoryStore, clock: Clock
) -> None:
    await cache.get("anna")
    memory_store.away = True
    clock.now += 3_600.0
    assert await cache.get("anna") == memory_store.keys["anna"]
    with pytest.raises(LedgerUnavailable):
        await cache.get("ben")


async def test_with_redis_gone_for_longer_than_the_setting_a_key_opens_nothing(
    memory_store: MemoryStore, clock: Clock
) -> None:
    memory_store.issue("anna", "ask")
    cache = KeyCache(memory_store.get, clock, outage_s=7_200.0)
    await cache.get("anna")
    memory_store.away = True
    clock.now += 7_199.0
    assert await cache.get("anna") == memory_store.keys["anna"]
    clock.now += 1.0
    with pytest.raises(LedgerUnavailable):
        await cache.get("anna")
    memory_store.away = False
    assert await cache.get("anna") == memory_store.keys["anna"]


async def test_guesses_do_not_fill_the_memory_and_evict_no_real_key(
    cache: KeyCache, memory_store: MemoryStore
) -> None:
    await cache.get("anna")
    for number in range(MAX_NAMES + 10):
        await cache.get(f"guess-{number}")
    memory_store.reads = 0
    await cache.get(f"guess-{MAX_NAMES + 9}")
    await cache.get("anna")
    assert memory_store.reads == 0
    await cache.get("guess-0")
    assert memory_store.reads == 1


async def test_names_whose_reading_failed_are_bounded(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(name: str) -> ApiKey | None:
        raise LedgerUnavailable("away")

    monkeypatch.setattr(key_cache, "MAX_NAMES", 10)
    cache = KeyCache(fail, clock)
    for number in range(30):
        with pytest.raises(LedgerUnavailable):
            await cache.get(f"name{number}")
    assert len(cache._away) == 10


async def test_with_redis_hung_not_every_request_waits_for_it(
    memory_store: MemoryStore, clock: Clock
) -> None:
    memory_store.issue("anna", "ask")

    async def hang(name: str) -> ApiKey | None:
        clock.now += 2.0
        return await memory_store.get(name)

    cache = KeyCache(hang, clock)
    await cache.get("anna")
    memory_store.away, memory_store.reads = True, 0
    clock.now += 3_600.0
    for _ in range(5):
        await cache.get("anna")
    assert memory_store.reads == 1


async def test_after_a_failed_read_a_key_that_was_revoked_long_ago_is_not_believed(
    cache: KeyCache, memory_store: MemoryStore, clock: Clock
) -> None:
    memory_store.issue("ben", "ask")
    await cache.get("anna")
    await cache.get("ben")
    memory_store.keys["ben"] = memory_store.keys["ben"].model_copy(update={"revoked": time.time()})
    memory_store.away = True
    clock.now += 2.0
    await cache.get("anna")
    memory_store.away = False
    clock.now += 3_600.0
    ben = await cache.get("ben")
    assert ben is not None
    assert ben.revoked is not None


async def test_all_who_want_a_stale_key_share_a_read(
    cache: KeyCache, memory_store: MemoryStore, clock: Clock
) -> None:
    await cache.get("anna")
    clock.now += 3_600.0
    await asyncio.gather(*(cache.get("anna") for _ in range(32)), *(cache.get("ben") for _ in range(32)))
    assert memory_store.reads == 3


async def test_a_key_in_use_is_read_anew_before_anybody_has_to_wait_for_it(
    cache: KeyCache, memory_store: MemoryStore, clock: Clock
) -> None:
    await cache.get("anna")
    for _ in range(4):
        clock.now += REFRESH_AGE_S
        await cache.get("anna")
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    memory_store.keys["anna"] = memory_store.keys["anna"].model_copy(update={"revoked": time.time()})
    clock.now += REFRESH_AGE_S
    await cache.get("anna")
    await asyncio.sleep(0.01)
    assert (await cache.get("anna") or memory_store.keys["anna"]).revoked is not None


async def test_with_redis_hung_a_stale_key_is_waited_for_once(
    memory_store: MemoryStore, clock: Clock
) -> None:
    memory_store.issue("anna", "ask")
    is_hung, answers = False, asyncio.Event()

    async def load(name: str) -> ApiKey | None:
        if is_hung:
            await answers.wait()
        return await memory_store.get(name)

    cache = KeyCache(load, clock)
    await cache.get("anna")
    is_hung = True
    clock.now += 3_600.0
    async with stopwatch() as seconds:
        await asyncio.gather(*(cache.get("anna") for _ in range(32)))
        first_s = seconds()
        for _ in range(100):
            clock.now += 60.0
            assert await cache.get("anna") == memory_store.keys["anna"]
        assert first_s < 10 * PATIENCE_S, "together, not one after the other"
        assert seconds() - first_s < 2 * PATIENCE_S, "none of a hundred waits"
    answers.set()
    await cache.aclose()


async def test_a_read_from_before_a_change_is_not_believed(memory_store: MemoryStore, clock: Clock) -> None:
    answers = asyncio.Event()

    async def load(name: str) -> ApiKey | None:
        key = await memory_store.get(name)
        await answers.wait()
        return key

    cache = KeyCache(load, clock)
    read = asyncio.create_task(cache.get("anna"))
    await asyncio.sleep(0)
    memory_store.issue("anna", "ask")
    cache.forget("anna")
    answers.set()
    await read
    assert await cache.get("anna") == memory_store.keys["anna"]
