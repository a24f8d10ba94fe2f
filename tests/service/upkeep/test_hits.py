"""Hits of edits in a real server."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import redis

from service.curation.upkeep import HitCounts, Hits
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
    assert await counts.find(["a", "never", "b"]) == {"a": Hits("a", 3, 10.0), "b": Hits("b", 1, 11.0)}
    assert await counts.find([]) == {}


async def test_the_longest_silent_are_dropped_when_there_are_too_many(counts: HitCounts) -> None:
    await counts.add([Hits(edit, 1, at) for edit, at in (("a", 4.0), ("b", 1.0), ("c", 2.0), ("d", 3.0))])
    assert set(await counts.find(["a", "b", "c", "d"])) == {"a", "c", "d"}
