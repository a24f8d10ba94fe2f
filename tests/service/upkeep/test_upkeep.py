"""Counts of what edits answered, written now and then."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime

import pytest
import redis
from errata import wire

from service.curation import buffered_counter as module
from service.curation.buffered_counter import BufferedCounter
from service.curation.hits import HitCounts, Hits
from service.errors import LedgerUnavailable
from service.ledger.connection import Connection
from service.ledger.embedded.server import EmbeddedValkey
from tests.service.parts import PATIENCE_S


@pytest.fixture
async def counts(valkey: EmbeddedValkey, raw: redis.Redis) -> AsyncIterator[HitCounts]:
    """Count the answers of three edits at most."""
    connection = Connection(valkey.url, PATIENCE_S)
    yield HitCounts(connection, max_edits=3)
    await connection.aclose()


async def test_counts_add_up_and_the_last_time_holds(counts: HitCounts) -> None:
    await counts.add([Hits("a", 2, 10.0), Hits("b", 1, 11.0)])
    await counts.add([Hits("a", 1, 9.0)])  # another ingress, which writes later
    assert await counts.find(["a", "never", "b"]) == {
        "a": wire.Hits(count=3, last=datetime.fromtimestamp(10, UTC)),
        "b": wire.Hits(count=1, last=datetime.fromtimestamp(11, UTC)),
    }
    assert await counts.find([]) == {}


async def test_the_longest_silent_are_dropped_when_there_are_too_many(counts: HitCounts) -> None:
    await counts.add([Hits(edit, 1, at) for edit, at in (("a", 4.0), ("b", 1.0), ("c", 2.0), ("d", 3.0))])
    assert set(await counts.find(["a", "b", "c", "d"])) == {"a", "c", "d"}


class Store:
    """A store of counts that can be away."""

    def __init__(self) -> None:
        self.hits: list[Hits] = []
        self.is_away, self.is_written = False, asyncio.Event()

    async def add(self, hits: Sequence[Hits]) -> None:
        if self.is_away:
            raise LedgerUnavailable("away")
        self.hits += hits
        self.is_written.set()


@pytest.fixture
def store() -> Store:
    return Store()


@pytest.fixture
def tally(store: Store, monkeypatch: pytest.MonkeyPatch) -> BufferedCounter[Hits]:
    monkeypatch.setattr(module, "WRITE_EVERY_S", 0.01)
    return BufferedCounter[Hits]("answers of edits", store.add)


async def test_counts_are_written_without_being_asked(tally: BufferedCounter[Hits], store: Store) -> None:
    for edit, at in (("a", 1.0), ("b", 2.0), ("a", 3.0)):
        tally.add(Hits(edit, 1, at))
    async with asyncio.timeout(PATIENCE_S):
        await store.is_written.wait()
    assert store.hits == [Hits("a", 2, 3.0), Hits("b", 1, 2.0)]
    await tally.aclose()
    assert len(store.hits) == 2


async def test_counts_wait_while_redis_is_away(tally: BufferedCounter[Hits], store: Store) -> None:
    store.is_away = True
    tally.add(Hits("a", 1, 1.0))
    with pytest.raises(LedgerUnavailable):
        await tally.flush()
    tally.add(Hits("a", 1, 2.0))
    store.is_away = False
    await tally.aclose()
    assert store.hits == [Hits("a", 2, 2.0)]


async def test_new_things_are_left_out_when_too_many_wait_and_old_ones_still_count(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "WRITE_EVERY_S", 0.01)
    tally = BufferedCounter[Hits]("answers of edits", store.add, max_waiting=2)
    for edit in ("a", "b", "c", "a"):
        tally.add(Hits(edit, 1, 1.0))
    async with asyncio.timeout(PATIENCE_S):
        await store.is_written.wait()
        while not caplog.messages:  # noqa: ASYNC110 (the task tells of no end)
            await asyncio.sleep(0.001)
    await tally.aclose()
    assert [(hits.edit, hits.count) for hits in store.hits] == [("a", 2), ("b", 1)]
    assert caplog.messages == ["1 answers of edits were not counted: too many waited"]


async def test_many_counts_are_written_in_batches_of_which_each_is_whole(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BATCH", 2)
    sizes: list[int] = []

    async def write(hits: Sequence[Hits]) -> None:
        sizes.append(len(hits))
        if len(sizes) == 2:  # a hit comes while the second batch is on its way, which then fails
            tally.add(Hits("c", 1, 2.0))
            raise LedgerUnavailable("away")
        store.hits += hits

    tally = BufferedCounter[Hits]("answers of edits", write, max_waiting=10)
    for edit in "abcde":
        tally.add(Hits(edit, 1, 1.0))
    with pytest.raises(LedgerUnavailable):
        await tally.flush()
    await tally.aclose()
    assert sizes == [2, 2, 2, 1]
    assert sorted(store.hits, key=lambda hits: hits.edit) == [
        *(Hits("a", 1, 1.0), Hits("b", 1, 1.0), Hits("c", 2, 2.0), Hits("d", 1, 1.0), Hits("e", 1, 1.0))
    ]
