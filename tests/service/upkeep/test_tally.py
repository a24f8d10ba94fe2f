"""An ingress writes its counts by itself, and keeps them while Redis is away."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from service.curation import upkeep as module
from service.curation.upkeep import Hits, Tally
from service.errors import LedgerUnavailable
from tests.service.parts import PATIENCE_S


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
def tally(store: Store, monkeypatch: pytest.MonkeyPatch) -> Tally[Hits]:
    monkeypatch.setattr(module, "WRITE_EVERY_S", 0.01)
    return Tally[Hits]("answers of edits", store.add)


async def test_counts_are_written_without_being_asked(tally: Tally[Hits], store: Store) -> None:
    for edit, at in (("a", 1.0), ("b", 2.0), ("a", 3.0)):
        tally.add(Hits(edit, 1, at))
    async with asyncio.timeout(PATIENCE_S):
        await store.is_written.wait()
    assert store.hits == [Hits("a", 2, 3.0), Hits("b", 1, 2.0)]
    await tally.aclose()
    assert len(store.hits) == 2


async def test_counts_wait_while_redis_is_away(tally: Tally[Hits], store: Store) -> None:
    store.is_away = True
    tally.add(Hits("a", 1, 1.0))
    with pytest.raises(LedgerUnavailable):
        await tally.flush()
    tally.add(Hits("a", 1, 2.0))
    store.is_away = False
    await tally.aclose()
    assert store.hits == [Hits("a", 2, 2.0)]


async def test_new_things_are_left_out_when_too_many_wait_and_old_ones_still_count(
    tally: Tally[Hits], store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_WAITING", 2)
    for edit in ("a", "b", "c", "a"):
        tally.add(Hits(edit, 1, 1.0))
    await tally.aclose()
    assert [(hits.edit, hits.count) for hits in store.hits] == [("a", 2), ("b", 1)]
