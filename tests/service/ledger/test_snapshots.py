"""A replica that starts late, from any manifest, holds the same bits as one that saw every commit."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import redis
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from models.blocks import Block, Image
from service.errors import LedgerCorrupt, LedgerUnavailable, NothingToDo
from service.ledger import keys, snapshots
from service.ledger.commit import Commit, StreamEntry, Write
from service.ledger.connection import Connection
from service.ledger.embedded.server import EmbeddedValkey
from service.ledger.manifests import Manifest
from service.ledger.store import RedisLedger
from tests.hypotheses import examples
from tests.service.ledger.writing import BASES, SLOTS, SUMS, Writer, fill, rows
from tests.service.parts import PATIENCE_S

STEPS = st.lists(
    st.tuples(st.sampled_from(["edit", "edit", "revert", "rollback"]), st.integers(0, 30), st.booleans()),
    min_size=1,
    max_size=14,
)


def sums(images: dict[str, Image]) -> dict[str, str]:
    return {memory: image.checksum for memory, image in images.items()}


def bits(images: dict[str, Image]) -> dict[str, list[tuple[str, int, bytes]]]:
    return {
        memory: [(b.key, b.order, b.encoded) for b in image.ordered_blocks]
        for memory, image in images.items()
    }


def make(writer: Writer, kind: str, number: int) -> tuple[Commit, list[Block]] | None:
    """Make the commit of this step; None if there is nothing to undo."""
    versions = max(len(writer.commits), 1)
    try:
        if kind == "rollback":
            return writer.rollback(number % versions)
        if kind == "revert" and writer.commits:
            return writer.revert(number % versions + 1)
    except NothingToDo:
        return None
    return writer.edit(number % 3 + 1)


async def replay_equals_fold(url: str, steps: list[tuple[str, int, bool]]) -> None:
    writer, ledger = Writer(), RedisLedger.connect(url)
    try:
        for kind, number, keep in steps:
            if (step := make(writer, kind, number)) is not None:
                await ledger.append(*step)
                if keep:
                    await ledger.put_manifest(step[0].version, writer.history[-1])
        for version, expected in enumerate(writer.history):
            assert bits(await snapshots.load(ledger, version, BASES)) == bits(expected)
    finally:
        await ledger.aclose()


@examples(25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
def test_at_every_version_of_any_history_a_load_gives_the_fold_bit_for_bit(
    valkey: EmbeddedValkey, raw: redis.Redis, steps: list[tuple[str, int, bool]]
) -> None:
    raw.flushall()
    asyncio.run(replay_equals_fold(valkey.url, steps))


async def test_following_commit_by_commit_equals_loading_at_once(ledger: RedisLedger) -> None:
    writer = await fill(ledger, 6)
    await ledger.append(*writer.revert(2))
    await ledger.append(*writer.rollback(4))
    following: dict[str, Image] = dict(BASES)
    for commit in writer.commits:
        following = await snapshots.advance(following, [commit], ledger)
        assert bits(following) == bits(await snapshots.load(ledger, commit.version, BASES))


async def test_a_replica_of_one_memory_leaves_the_others_alone(ledger: RedisLedger) -> None:
    writer = await fill(ledger, 3)
    await ledger.put_manifest(2, writer.history[2])
    images = await snapshots.load(ledger, 3, {SUMS: BASES[SUMS]})
    assert sums(images) == {SUMS: writer.history[3][SUMS].checksum}


async def test_a_memory_that_came_after_a_manifest_starts_from_its_base(ledger: RedisLedger) -> None:
    await fill(ledger, 3)
    await ledger.put_manifest(3, {SLOTS: (await snapshots.load(ledger, 3, BASES))[SLOTS]})
    other = {"toy/new": Image("sha256:" + "ab" * 32)}
    assert sums(await snapshots.load(ledger, 3, other)) == sums(other)


async def test_a_memory_that_a_manifest_leaves_out_is_replayed_from_the_start(ledger: RedisLedger) -> None:
    """This happens when a model was not served for a while, and the manifest is of that time."""
    writer = await fill(ledger, 3)
    await ledger.put_manifest(3, {SLOTS: writer.history[3][SLOTS]})
    await ledger.append(*writer.edit())
    for version in (3, 4):
        assert bits(await snapshots.load(ledger, version, BASES)) == bits(writer.history[version])


async def test_a_manifest_is_held_against_the_commit_it_is_of(ledger: RedisLedger) -> None:
    writer = await fill(ledger, 3)
    await ledger.put_manifest(3, writer.history[2])
    with pytest.raises(LedgerCorrupt, match=r"manifest of version 3 .*ZREM \{errata\}:images 3"):
        await snapshots.load(ledger, 3, BASES)


async def test_a_base_with_rows_of_its_own_survives_a_manifest(ledger: RedisLedger) -> None:
    base = Image("sha256:" + "cd" * 32, {"own": Block.of("own", 0, "value", {"v": rows("own")})})
    await ledger.put_manifest(0, {"toy/own": base})
    assert bits(await snapshots.load(ledger, 0, {"toy/own": base})) == bits({"toy/own": base})


async def test_another_checkpoint_than_the_manifests_is_said_so(ledger: RedisLedger) -> None:
    writer = await fill(ledger, 2)
    await ledger.put_manifest(2, writer.history[2])
    other = Image("sha256:" + "ef" * 32)
    with pytest.raises(
        LedgerCorrupt, match=rf"{SLOTS} at version 2 was written on checkpoint {BASES[SLOTS].base}"
    ):
        await snapshots.load(ledger, 2, {SLOTS: other})


async def test_another_checkpoint_than_the_writers_is_said_so_without_a_manifest(ledger: RedisLedger) -> None:
    await fill(ledger, 2)
    with pytest.raises(LedgerCorrupt, match="another checkpoint than the writer"):
        await snapshots.load(ledger, 2, {SLOTS: Image("sha256:" + "ef" * 32)})


async def test_rows_that_do_not_give_the_recorded_checksum_are_refused(ledger: RedisLedger) -> None:
    writer = Writer()
    commit, blocks = writer.edit()
    write = commit.writes[SUMS]
    wrong = replace(commit, writes={**commit.writes, SUMS: replace(write, checksum="sha256:" + "0" * 64)})
    await ledger.append(wrong, blocks)
    with pytest.raises(
        LedgerCorrupt, match=rf"{SUMS} at version 1 should be sha256:0+ and is {write.checksum}"
    ):
        await snapshots.load(ledger, 1, BASES)


async def test_a_missing_row_stops_a_load_and_is_named(ledger: RedisLedger, raw: redis.Redis) -> None:
    writer = await fill(ledger, 3)
    block = writer.history[3][SLOTS].ordered_blocks[1]
    raw.delete(keys.block(block.digest))
    with pytest.raises(LedgerCorrupt, match=f"rows '{block.key}'"):
        await snapshots.load(ledger, 3, BASES)


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: None,
        lambda data: b"{",
        lambda data: b"[]",
        lambda data: data.replace(b'"value/1",1,"sha256:', b'"value/1",1,"sha256:0', 1),
        lambda data: data.replace(b'"checksum":"sha256:', b'"checksum":"sha256:0', 1),
    ],
    ids=["gone", "cut", "shape", "digest", "checksum"],
)
async def test_a_damaged_manifest_is_named_and_the_advice_heals_it(
    ledger: RedisLedger, raw: redis.Redis, damage: Callable[[bytes], bytes | None]
) -> None:
    writer = await fill(ledger, 4)
    await ledger.put_manifest(2, writer.history[2])
    data: Any = raw.get(keys.manifest(2))
    damaged_data = damage(data)
    raw.set(keys.manifest(2), damaged_data) if damaged_data else raw.delete(keys.manifest(2))
    with pytest.raises(LedgerCorrupt, match=r"manifest of version 2 .*ZREM \{errata\}:images 2"):
        await snapshots.load(ledger, 4, BASES)
    raw.zrem("{errata}:images", 2)
    assert sums(await snapshots.load(ledger, 4, BASES)) == sums(writer.history[4])


async def test_the_nearest_manifest_is_the_newest_that_is_not_newer(ledger: RedisLedger) -> None:
    writer = await fill(ledger, 9)
    for version in (2, 4, 8):
        await ledger.put_manifest(version, writer.history[version])
    nearest = [await ledger.nearest_manifest(version) for version in (1, 2, 3, 7, 8, 99)]
    assert [item[0] if item else None for item in nearest] == [None, 2, 2, 4, 8, 8]
    assert nearest[3] is not None
    assert nearest[3][1] == {memory: Manifest.of(image) for memory, image in writer.history[4].items()}


async def test_manifests_are_thinned_and_none_is_missed_by_who_looks_meanwhile(
    ledger: RedisLedger, raw: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = await fill(ledger, 24)
    for version in range(1, 25):
        await ledger.put_manifest(version, writer.history[version])
    versions = [int(version) for version in raw.zrange(keys.MANIFESTS, 0, -1)]
    assert versions[-4:] == [21, 22, 23, 24]
    assert len(versions) < 12
    assert len(list(raw.scan_iter("{errata}:image:*"))) == len(versions)
    get, reads = ledger._redis.get, []

    async def thinned_before_the_first(key: str) -> Any:
        if not reads:
            raw.zrem(keys.MANIFESTS, 24)
            raw.delete(key)
        reads.append(key)
        return await get(key)

    monkeypatch.setattr(ledger._redis, "get", thinned_before_the_first)
    nearest = await ledger.nearest_manifest(24)
    assert nearest is not None
    assert nearest[0] == 23


class Slow(RedisLedger):
    """A ledger that is too slow for more commits at once, as for those of a megabyte."""

    max_commits = 4

    async def _range(self, first: str, last: str, count: int) -> list[StreamEntry]:
        async with self.connection.call("read large commits"):
            if count > self.max_commits:
                raise TimeoutError
        return await super()._range(first, last, count)


@pytest.mark.parametrize("count", [1, 5, 23])
async def test_commits_too_large_to_be_read_together_are_read_in_smaller_parts(
    ledger: RedisLedger, valkey: EmbeddedValkey, count: int
) -> None:
    writer = await fill(ledger, count)
    slow = Slow(Connection(valkey.url, PATIENCE_S))
    try:
        assert bits(await snapshots.load(slow, count, BASES)) == bits(writer.history[count])
        assert (await snapshots.read_page(slow, 0))[0] == writer.commits[0]
    finally:
        await slow.aclose()


async def test_a_ledger_too_slow_for_a_single_commit_is_unavailable(
    ledger: RedisLedger, valkey: EmbeddedValkey, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Slow, "max_commits", 0)
    slow = Slow(Connection(valkey.url, PATIENCE_S))
    try:
        with pytest.raises(LedgerUnavailable, match="no reply within 60 s"):
            await snapshots.read_page(slow, 0, 8)
    finally:
        await slow.aclose()


SNAPSHOT_EVERY = 256


def long_history(count: int) -> tuple[list[Commit], dict[str, Block], dict[int, Image]]:
    """`count` commits, each with one block more, and the images at every 256th: without a server, to be quick."""
    commits: list[Commit] = []
    blocks: dict[str, Block] = {}
    images_at: dict[int, Image] = {}
    previous = ""
    for version in range(1, count + 1):
        block = Block.of(f"edit/{version}", version, "gated", {"rows": rows(str(version), 32)})
        blocks[block.key] = block
        image = (
            Image(BASES[SLOTS].base, dict(blocks))
            if version % SNAPSHOT_EVERY == 0 or version == count
            else None
        )
        checksum = image.checksum if image else "sha256:unchecked"
        write = Write(checksum, ((block.key, version, block.digest),))
        commit = Commit(version, "edit", "ana", 1.0, "", writes={SLOTS: write}, previous=previous)
        commits.append(commit)
        previous = commit.digest
        if image:
            images_at[version] = image
    return commits, blocks, images_at


async def load_within(ledger: RedisLedger, version: int) -> tuple[float, Image]:
    start = time.perf_counter()
    images = await snapshots.load(ledger, version, {SLOTS: BASES[SLOTS]})
    return time.perf_counter() - start, images[SLOTS]


async def test_ten_thousand_commits_start_from_a_manifest_and_not_from_the_beginning(
    ledger: RedisLedger, raw: redis.Redis
) -> None:
    count = 10_000
    commits, blocks, images_at = long_history(count)
    pipeline = raw.pipeline(transaction=False)
    for commit in commits:
        pipeline.xadd(
            keys.LOG, {"commit": commit.encoded, "digest": commit.digest}, id=keys.entry(commit.version)
        )
    pipeline.mset({keys.block(block.digest): block.encoded for block in blocks.values()})
    pipeline.execute()
    last = count - count % SNAPSHOT_EVERY
    await ledger.put_manifest(last, {SLOTS: images_at[last]})
    raw.config_resetstat()
    took_s, image = await load_within(ledger, count)
    assert image.checksum == images_at[count].checksum
    reads = raw.info("commandstats")["cmdstat_xrange"]["calls"]
    assert reads == 1, "one read holds all the commits since the manifest"
    assert took_s < 60.0, f"{took_s:.2f} s"
    print(f"10,000 commits loaded in {took_s:.2f} s")
