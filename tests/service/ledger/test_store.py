"""The ledger's promises on a real server: one order, no commit twice or in part, and damage is named."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest
import redis

from service.errors import LedgerCorrupt, NotFound, NotReady, StaleVersion
from service.ledger import block_store, keys, snapshots
from service.ledger.commit import Commit, sha256
from service.ledger.store import RedisLedger
from service.ledger.tags import Tag, Tags
from tests.service.ledger.writing import AUTHOR, BASES, Writer, fill
from tests.service.parts import stopwatch


async def test_an_empty_ledger_is_at_version_zero(ledger: RedisLedger) -> None:
    assert await ledger.head() == 0
    assert await ledger.read(0) == []
    assert await ledger.nearest_manifest(99) is None


async def test_the_end_of_a_ledger_names_its_last_commit(ledger: RedisLedger) -> None:
    assert await ledger.end() == (0, "")
    commits = (await fill(ledger, 2)).commits
    assert await ledger.end() == (2, commits[1].digest)


async def test_commits_are_read_as_they_were_written(ledger: RedisLedger) -> None:
    commits = (await fill(ledger, 7)).commits
    assert await ledger.head() == 7
    assert await ledger.read(0) == commits
    assert await ledger.read(2, limit=3) == commits[2:5]
    assert await ledger.read(7) == []
    assert await ledger.get(4) == commits[3]


@pytest.mark.parametrize("version", [-1, 0, 3])
async def test_a_version_that_is_not_there_is_not_found(ledger: RedisLedger, version: int) -> None:
    await fill(ledger, 2)
    with pytest.raises(NotFound, match=f"no version {version}: the newest is 2"):
        await ledger.get(version)


async def test_a_stale_writer_changes_nothing(ledger: RedisLedger, raw: redis.Redis) -> None:
    writer = await fill(ledger, 2)
    late, blocks = Writer(writer.commits[:1], writer.history[:2], name="late").edit()
    before = raw.xrange(keys.LOG)
    with pytest.raises(StaleVersion) as error:
        await ledger.append(late, blocks, "late-key")
    assert error.value.extras == {"current": 2, "expected": 1}
    assert raw.xrange(keys.LOG) == before
    assert await ledger.find_version(AUTHOR, "late-key") is None


async def test_a_writer_from_the_future_is_stale_too(ledger: RedisLedger) -> None:
    writer = Writer()
    writer.edit()
    with pytest.raises(StaleVersion) as error:
        await ledger.append(*writer.edit())
    assert error.value.extras == {"current": 0, "expected": 1}


async def test_of_many_writers_at_once_one_wins_and_the_others_learn_it(ledger: RedisLedger) -> None:
    rivals = [Writer(name=f"r{i}").edit() for i in range(20)]
    results = await asyncio.gather(*(ledger.append(*rival) for rival in rivals), return_exceptions=True)
    stale_writers = [result for result in results if isinstance(result, StaleVersion)]
    assert (results.count(1), len(stale_writers)) == (1, 19)
    assert await ledger.read(0) == [rivals[results.index(1)][0]]


async def test_a_commit_sent_again_is_made_once(ledger: RedisLedger) -> None:
    writer = Writer()
    first, second = writer.edit(), writer.edit()
    assert [await ledger.append(*first), await ledger.append(*first)] == [1, 1]
    assert [await ledger.append(*second), await ledger.append(*first)] == [2, 1]
    assert await ledger.head() == 2


async def test_another_history_is_not_continued(ledger: RedisLedger) -> None:
    await fill(ledger, 2)
    stranger = Writer(name="stranger")
    for _ in range(2):
        stranger.edit()
    with pytest.raises(LedgerCorrupt, match="version 2 of the ledger is not the one this process knows"):
        await ledger.append(*stranger.edit())
    assert await ledger.head() == 2


async def test_an_idempotency_key_is_its_authors_own(ledger: RedisLedger) -> None:
    writer = Writer()
    await ledger.append(*writer.edit(), idempotency_key="nightly-1")
    commit, blocks = writer.edit()
    assert await ledger.find_version("ben", "nightly-1") is None
    by_ben = replace(commit, author="ben")
    assert await ledger.append(by_ben, blocks, "nightly-1") == 2
    assert [await ledger.find_version(author, "nightly-1") for author in (AUTHOR, "ben")] == [1, 2]


def test_no_author_and_key_together_are_another_pair() -> None:
    pairs = [("a", "b:c"), ("a:b", "c"), ("a%3Ab", "c"), ("oidc:a", "b"), ("oidc", "a:b")]
    assert len({keys.idempotency(author, key) for author, key in pairs}) == len(pairs)


async def test_an_idempotency_key_gives_the_first_result_again(ledger: RedisLedger, raw: redis.Redis) -> None:
    writer = Writer()
    assert await ledger.append(*writer.edit(), idempotency_key="k") == 1
    assert await ledger.find_version(AUTHOR, "k") == 1
    assert await ledger.append(*writer.edit(), idempotency_key="k") == 1
    assert await ledger.head() == 1
    assert 0 < int(str(raw.ttl(keys.idempotency(AUTHOR, "k")))) <= keys.IDEMPOTENCY_TTL_S


async def test_the_same_request_many_times_at_once_makes_one_commit(ledger: RedisLedger) -> None:
    rivals = [Writer(name=f"r{i}").edit() for i in range(10)]
    results = await asyncio.gather(*(ledger.append(*rival, idempotency_key="k") for rival in rivals))
    assert results == [1] * 10
    assert await ledger.head() == 1


async def test_a_commit_nobody_could_read_back_does_not_get_in(ledger: RedisLedger) -> None:
    commit, blocks = Writer().edit()
    with pytest.raises(LedgerCorrupt, match="format 9"):
        await ledger.append(replace(commit, format=9), blocks)
    assert await ledger.head() == 0


async def test_waiting_ends_when_a_commit_lands(ledger: RedisLedger) -> None:
    writer = await fill(ledger, 1)
    waiting = asyncio.create_task(ledger.wait(1, 1.0))
    await asyncio.sleep(0.05)
    assert not waiting.done()
    async with stopwatch() as seconds:
        await ledger.append(*writer.edit())
        assert await waiting
        assert seconds() < 0.5


async def test_waiting_ends_without_a_commit_after_a_second_at_most(ledger: RedisLedger) -> None:
    loop = asyncio.get_running_loop()
    start = loop.time()
    async with stopwatch() as seconds:
        assert not await ledger.wait(0, 30.0)
        assert loop.time() - start > 0.9
        assert seconds() < 1.9
    assert not await ledger.wait(0, 0.0)


async def test_many_waiting_replicas_do_not_hold_up_an_edit(ledger: RedisLedger) -> None:
    waiting = [asyncio.create_task(ledger.wait(0, 1.0)) for _ in range(8)]
    await asyncio.sleep(0.05)
    async with stopwatch() as seconds:
        assert await ledger.append(*Writer().edit()) == 1
        assert seconds() < 0.5
    assert await asyncio.gather(*waiting) == [True] * 8


async def test_a_replica_is_known_by_its_heartbeat_until_it_is_forgotten(ledger: RedisLedger) -> None:
    await ledger.heartbeat("a", {"version": 1})
    await ledger.heartbeat("a", {"version": 2, "checksums": {"m": "sha256:0"}})
    await ledger.heartbeat("b", {"version": 1})
    result = await ledger.replicas()
    assert result.keys() == {"a", "b"}
    assert 0 <= result["a"].pop("seen_s_ago") < 5
    assert result["a"] == {"version": 2, "checksums": {"m": "sha256:0"}}
    await ledger.forget("a")
    assert (await ledger.replicas()).keys() == {"b"}


async def test_a_replica_unseen_for_an_hour_is_no_longer_told_of(
    ledger: RedisLedger, raw: redis.Redis
) -> None:
    seconds = raw.time()[0]
    raw.hset(keys.REPLICAS, mapping={"old": f"{seconds - 4000}.0 {{}}", "new": f"{seconds - 3000}.0 {{}}"})
    assert (await ledger.replicas()).keys() == {"new"}


async def test_a_heartbeat_from_before_the_clock_was_put_back_an_hour_is_an_hour_old(
    ledger: RedisLedger, raw: redis.Redis
) -> None:
    """A replica that died before does not count as alive for another hour."""
    await ledger.heartbeat("dead", {})
    time_s, _, payload = bytes(raw.hget(keys.REPLICAS, "dead") or b"").partition(b" ")
    raw.hset(keys.REPLICAS, "dead", b"%f %s" % (float(time_s) + 3600, payload))
    await ledger.heartbeat("alive", {})
    ages_s = {name: beat["seen_s_ago"] for name, beat in (await ledger.replicas()).items()}
    assert ages_s["alive"] < 1
    assert ages_s.get("dead", 3600) > 1800


async def test_a_heartbeat_sweeps_out_the_replicas_unseen_for_an_hour(
    ledger: RedisLedger, raw: redis.Redis
) -> None:
    seconds = raw.time()[0]
    raw.hset(keys.REPLICAS, mapping={"old": f"{seconds - 4000}.0 {{}}", "new": f"{seconds - 3000}.0 {{}}"})
    await ledger.heartbeat("mine", {})
    assert set(raw.hkeys(keys.REPLICAS)) == {b"new", b"mine"}


async def test_rows_come_back_in_the_order_asked_for(ledger: RedisLedger) -> None:
    commit, blocks = Writer().edit(600)
    await ledger.append(commit, blocks)
    entries = [(block.key, block.order, block.digest) for block in reversed(blocks)]
    result = await ledger.blocks(entries)
    assert [(b.key, b.order, b.digest, b.encoded) for b in result] == [
        (b.key, b.order, b.digest, b.encoded) for b in reversed(blocks)
    ]


async def test_altered_rows_are_named(ledger: RedisLedger, raw: redis.Redis) -> None:
    commit, blocks = Writer().edit(2)
    await ledger.append(commit, blocks)
    first, second = blocks[:2]
    raw.set(keys.block(first.digest), second.encoded)
    with pytest.raises(LedgerCorrupt, match=f"rows '{first.key}'.*not those that were written") as error:
        await ledger.blocks([(first.key, first.order, first.digest)])
    assert error.value.extras == {"block": first.digest}


async def test_missing_rows_are_named(ledger: RedisLedger, raw: redis.Redis) -> None:
    commit, blocks = Writer().edit(1)
    await ledger.append(commit, blocks)
    raw.delete(keys.block(blocks[0].digest))
    with pytest.raises(LedgerCorrupt, match=f"rows '{blocks[0].key}'.*missing.*backup"):
        await ledger.blocks([(blocks[0].key, 0, blocks[0].digest)])


def rewrite(raw: redis.Redis, commits: list[Commit], version: int, data: bytes, digest: str) -> None:
    """Replace the bytes of one commit, as only somebody with access to Redis can."""
    raw.delete(keys.LOG)
    for commit in commits:
        entry = (data, digest) if commit.version == version else (commit.encoded, commit.digest)
        raw.xadd(keys.LOG, {"commit": entry[0], "digest": entry[1]}, id=keys.entry(commit.version))


async def test_an_altered_commit_is_named(ledger: RedisLedger, raw: redis.Redis) -> None:
    commits = (await fill(ledger, 4)).commits
    forgery = replace(commits[1], author="eve")
    rewrite(raw, commits, 2, forgery.encoded, commits[1].digest)
    for reading in (ledger.read(0), ledger.read(2), ledger.get(2)):
        with pytest.raises(LedgerCorrupt, match=r"version 2 .*not those that were written"):
            await reading
    assert [c.version for c in await ledger.read(3)] == [4]


async def test_a_forged_commit_with_a_fitting_digest_breaks_the_chain_behind_it(
    ledger: RedisLedger, raw: redis.Redis
) -> None:
    commits = (await fill(ledger, 4)).commits
    forgery = replace(commits[1], author="eve")
    rewrite(raw, commits, 2, forgery.encoded, forgery.digest)
    for reading in (ledger.read(0), ledger.read(2)):
        with pytest.raises(LedgerCorrupt, match=r"version 3 .*does not follow"):
            await reading


async def test_garbage_in_the_log_is_named_wherever_it_lies(ledger: RedisLedger, raw: redis.Redis) -> None:
    commits = (await fill(ledger, 3)).commits
    rewrite(raw, commits, 3, b"{broken", sha256(b"{broken"))
    with pytest.raises(LedgerCorrupt, match=r"version 3 of the ledger cannot be used.*backup"):
        await ledger.read(0)
    raw.delete(keys.LOG)
    raw.xadd(keys.LOG, {"other": "x"}, id="1-0")
    with pytest.raises(LedgerCorrupt, match=r"version 1 .*holds no commit"):
        await ledger.read(0)


@pytest.mark.parametrize("version", [1, 2, 3])
async def test_a_lost_commit_is_named_and_never_skipped(
    ledger: RedisLedger, raw: redis.Redis, version: int
) -> None:
    await fill(ledger, 4)
    raw.xdel(keys.LOG, keys.entry(version))
    with pytest.raises(LedgerCorrupt, match=f"version {version} .*missing"):
        await ledger.read(0)
    with pytest.raises(LedgerCorrupt, match="some were deleted"):
        await ledger.check()


async def test_a_reader_ahead_of_a_ledger_that_lost_its_end_is_told(
    ledger: RedisLedger, raw: redis.Redis
) -> None:
    await fill(ledger, 3)
    raw.delete(keys.LOG)
    with pytest.raises(LedgerCorrupt, match=r"version 3 .*is gone; the newest is 0"):
        await ledger.read(3)


async def test_a_reader_of_another_ledger_of_the_same_length_is_told(
    ledger: RedisLedger, raw: redis.Redis
) -> None:
    digest = (await fill(ledger, 3)).commits[1].digest
    assert [c.version for c in await ledger.read(2, previous=digest)] == [3]
    raw.flushall()
    stranger = Writer(name="stranger")
    for _ in range(3):
        await ledger.append(*stranger.edit())
    assert [c.version for c in await ledger.read(2)] == [3]
    with pytest.raises(LedgerCorrupt, match=r"version 2 .*not the one this process knows.*replaced.*restore"):
        await ledger.read(2, previous=digest)


async def test_a_commit_whose_rows_are_lost_before_it_is_made_stores_them_again(
    ledger: RedisLedger, raw: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They were there when it checked, but the master that had them is gone."""
    writer = await fill(ledger, 6)
    for version in (4, 5, 6):
        await ledger.append(*writer.revert(version))
    commit, blocks = writer.rollback(6)
    store, failures = block_store.store, 2

    async def store_and_lose(*args: Any) -> None:
        nonlocal failures
        await store(*args)
        if failures:
            failures -= 1
            for block in blocks:
                raw.unlink(keys.block(block.digest))

    monkeypatch.setattr(block_store, "store", store_and_lose)
    assert await ledger.append(commit, blocks) == commit.version
    assert failures == 0
    images = await snapshots.load(ledger, commit.version, BASES)
    assert {m: i.checksum for m, i in images.items()} == {
        m: i.checksum for m, i in writer.history[-1].items()
    }


async def test_rows_that_are_lost_each_time_end_it_without_a_commit(
    ledger: RedisLedger, raw: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = await fill(ledger, 2)

    async def lose(*args: Any) -> None:
        pass

    monkeypatch.setattr(block_store, "store", lose)
    with pytest.raises(NotReady, match="lost"):
        await ledger.append(*writer.edit())
    assert await ledger.head() == 2


async def test_of_two_who_restore_a_tag_or_take_it_away_one_does(ledger: RedisLedger) -> None:
    tags = Tags(ledger.connection)
    first, second = (Tag(name="spring", version=version, by="anna", time=1.0) for version in (1, 2))
    restores = await asyncio.gather(tags.restore(first), tags.restore(second))
    assert sorted(restores) == [False, True]
    assert [tag.version for tag in await tags.all()] == [1 if restores[0] else 2]
    removals = await asyncio.gather(tags.remove("spring"), tags.remove("spring"), return_exceptions=True)
    assert sorted(type(result).__name__ for result in removals) == ["NotFound", "Tag"]
