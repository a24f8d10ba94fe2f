"""Rows that no kept version reads may go: every kept one is loaded bit for bit, and no commit is lost or half there."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
import redis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from service.errors import LedgerCorrupt, NothingToDo, NotReady, VersionDropped
from service.ledger import images, keys, rows
from service.ledger.embedded import EmbeddedValkey
from service.ledger.kept import Kept, Retention, dropped
from service.ledger.store import RedisLedger
from tests.service.ledger.writing import BASES, SUMS, Writer, filled


def blocks(raw: redis.Redis) -> set[str]:
    return {"sha256:" + name.decode().rpartition(":")[2] for name in raw.scan_iter(keys.block("*"))}


async def compacted(ledger: RedisLedger, writer: Writer, oldest: int, also: Iterable[int] = ()) -> Kept:
    retention, before = Retention(ledger.connection), await ledger.kept()
    kept = before.changed(oldest, also)
    gone = sorted(dropped(writer.commits, kept))
    assert await retention.change(before, kept)
    assert await retention.drop(gone, writer.commits[-1].digest, kept) == len(gone)
    assert await ledger.kept() == kept
    return kept


def needed(writer: Writer, kept: Kept) -> set[str]:
    """From what the memories held, and not from the commits."""
    images = [image for v, then in enumerate(writer.history) if kept.has(v) for image in then.values()]
    held = {block.digest for image in images for block in image.blocks.values()}
    return held | {edit.material for commit in writer.commits for edit in commit.edits}


async def check(ledger: RedisLedger, writer: Writer, kept: Kept) -> None:
    """By a replica that has just started."""
    for version, then in enumerate(writer.history):
        if kept.has(version):
            found = await images.load(ledger, version, BASES)
            assert {m: i.checksum for m, i in found.items()} == {m: i.checksum for m, i in then.items()}


@given(
    steps=st.lists(
        st.tuples(st.sampled_from(["edit", "edit", "revert", "rollback"]), st.integers(0, 30)), max_size=14
    ),
    manifests=st.sets(st.integers(1, 15)),
    oldest=st.integers(1, 15),
    also=st.sets(st.integers(1, 15), max_size=3),
)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_what_is_kept_is_loaded_and_what_is_dropped_is_gone(
    valkey: EmbeddedValkey,
    raw: redis.Redis,
    steps: list[tuple[str, int]],
    manifests: set[int],
    oldest: int,
    also: set[int],
) -> None:
    raw.flushall()
    ledger, writer = RedisLedger.connect(valkey.url), Writer()
    try:
        for kind, number in [("edit", 0), *steps]:
            made = _made(writer, kind, number)
            if made is not None:
                await ledger.append(*made)
            if len(writer.commits) in manifests:
                await ledger.put_image(len(writer.commits), writer.history[-1])
        before = blocks(raw)
        kept = await compacted(ledger, writer, min(oldest, len(writer.commits)), also)
        assert blocks(raw) == before & needed(writer, kept)
        assert await ledger.read(0) == writer.commits
        await check(ledger, writer, kept)
    finally:
        await ledger.aclose()


def _made(writer: Writer, kind: str, number: int) -> Any:
    try:
        if kind == "edit":
            return writer.edit(1 + number % 3)
        version = number % len(writer.commits)
        return writer.revert(version + 1) if kind == "revert" else writer.rollback(version)
    except NothingToDo:
        return None


async def test_rows_that_only_old_versions_read_are_the_ones_that_go(
    ledger: RedisLedger, raw: redis.Redis
) -> None:
    writer = await filled(ledger, 9)
    sums = {version: writer.history[version][SUMS].blocks for version in range(1, 10)}
    before = blocks(raw)
    await compacted(ledger, writer, 7, [3])
    assert len(before - blocks(raw)) == 1, "the sum that version 4 made, and 7 replaced"
    held = blocks(raw)
    assert all(block.digest in held for version in (3, 7, 8, 9) for block in sums[version].values())


async def test_a_commit_whose_rows_are_dropped_before_it_is_made_stores_them_again(
    ledger: RedisLedger, raw: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They were there when it looked, as rows of an old version that is its own again."""
    writer = await filled(ledger, 6)
    for version in (4, 5, 6):
        await ledger.append(*writer.revert(version))
    commit, named = writer.rollback(6)
    store, left = rows.store, 2

    async def stored_and_dropped(*args: Any) -> None:
        nonlocal left
        await store(*args)
        if left:
            left -= 1
            for block in named:
                raw.unlink(keys.block(block.digest))

    monkeypatch.setattr(rows, "store", stored_and_dropped)
    assert await ledger.append(commit, named) == commit.version
    assert left == 0
    await check(ledger, writer, Kept())


async def test_rows_that_go_each_time_end_it_without_a_commit(
    ledger: RedisLedger, raw: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = await filled(ledger, 2)

    async def lost(*args: Any) -> None:
        pass

    monkeypatch.setattr(rows, "store", lost)
    with pytest.raises(NotReady, match="dropped"):
        await ledger.append(*writer.edit())
    assert await ledger.head() == 2


async def test_nothing_is_dropped_after_the_ledger_has_moved(ledger: RedisLedger, raw: redis.Redis) -> None:
    writer = await filled(ledger, 6)
    retention, kept, seen = Retention(ledger.connection), Kept().changed(6, ()), writer.commits[-1].digest
    gone = sorted(dropped(writer.commits, kept))
    assert await retention.change(Kept(), kept)
    await ledger.append(*writer.rollback(2))
    before = blocks(raw)
    assert gone
    assert await retention.drop(gone, seen, kept) == 0
    assert blocks(raw) == before


async def test_nothing_is_dropped_after_another_decided_what_is_kept(
    ledger: RedisLedger, raw: redis.Redis
) -> None:
    """Also when it decided the same: between the two a version may have come back."""
    writer = await filled(ledger, 6)
    retention, late = Retention(ledger.connection), Kept().changed(6, ())
    gone = sorted(dropped(writer.commits, late))
    assert await retention.change(Kept(), late)
    assert await retention.change(Kept(), late), "its reply was lost"
    assert await retention.change(late, late.changed(6, ()))
    assert not await retention.change(late, late.changed(6, (2,)))
    before = blocks(raw)
    assert await retention.drop(gone, writer.commits[-1].digest, late) == 0
    assert blocks(raw) == before


async def test_what_is_kept_and_cannot_be_read_is_damage(ledger: RedisLedger, raw: redis.Redis) -> None:
    for data in (b"garbage", b"[]", b'{"newest": 3}', b'{"also": ["x"]}'):
        raw.set(keys.KEPT, data)
        with pytest.raises(LedgerCorrupt, match="is not what was written"):
            await ledger.kept()


async def test_a_row_that_is_lost_is_damage_and_no_dropped_version(
    ledger: RedisLedger, raw: redis.Redis
) -> None:
    writer = await filled(ledger, 4)
    await compacted(ledger, writer, 3)
    raw.unlink(*(keys.block(block.digest) for block in writer.history[4][SUMS].blocks.values()))
    (await ledger.kept()).check(4)
    with pytest.raises(LedgerCorrupt, match="missing"):
        await images.load(ledger, 4, BASES)


@pytest.mark.parametrize(
    ("there", "backup", "common", "kept"),
    [
        (Kept(), Kept(), 0, Kept(1)),
        (Kept(8, (2,)), Kept(), 0, Kept(1)),
        (Kept(), Kept(5, (2,)), 0, Kept(5, (2,))),
        (Kept(), Kept(5, (2,)), 3, Kept(5, (1, 2, 3))),
        (Kept(), Kept(5, (2,)), 4, Kept(1)),
        (Kept(3, (1,)), Kept(7, (5,)), 6, Kept(3, (1,))),
        (Kept(9), Kept(9), 4, Kept(9)),
        (Kept(), Kept(9), 9, Kept(1)),
    ],
)
def test_after_a_restore_there_is_what_either_brought(
    there: Kept, backup: Kept, common: int, kept: Kept
) -> None:
    found = there.with_restored(backup, common, 9)
    assert (found.oldest, found.also, found.until) == (kept.oldest, kept.also, 9)


def test_who_asks_for_a_dropped_version_is_told_what_there_is() -> None:
    with pytest.raises(
        VersionDropped, match=r"there are 0, 2 and all from 5 on.*errata tag NAME 4"
    ) as refusal:
        Kept(5, (2,)).check(4)
    assert refusal.value.extras == {"version": 4, "oldest": 5}
