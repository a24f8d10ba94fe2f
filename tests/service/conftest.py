"""One real Valkey for all ledger tests, emptied before each; tests that kill a server start their own."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import redis

from service import concurrency
from service.ledger.embedded.server import EmbeddedValkey
from service.ledger.store import RedisLedger

# Pause after a cancellation that was swallowed, as redis-py does to the first one of nearly every replica
concurrency.CANCEL_EVERY_S = 0.01


@pytest.fixture(scope="session")
def valkey(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedValkey]:
    with EmbeddedValkey(tmp_path_factory.mktemp("valkey")) as server:
        yield server


@pytest.fixture
def raw(valkey: EmbeddedValkey) -> Iterator[redis.Redis]:
    """Return a client for damage to the server, which is empty at first."""
    with redis.Redis.from_url(valkey.url) as client:
        client.flushall()
        yield client


@pytest.fixture
async def ledger(valkey: EmbeddedValkey, raw: redis.Redis) -> AsyncIterator[RedisLedger]:
    ledger = RedisLedger.connect(valkey.url)
    yield ledger
    await ledger.aclose()


@pytest.fixture
def own_valkey(tmp_path: Path) -> Iterator[EmbeddedValkey]:
    """Run a server that the test may kill or freeze."""
    with EmbeddedValkey(tmp_path / "valkey") as server:
        yield server
