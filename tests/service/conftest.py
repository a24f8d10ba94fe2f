"""One real Valkey for all ledger tests, emptied before each; tests that kill a server start their own.

Their folders are in memory where there is room, for a disk would have to be waited for at each write.
"""

import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import redis

from service import concurrency
from service.ledger.connection import Connection
from service.ledger.embedded.server import EmbeddedValkey
from service.ledger.store import RedisLedger
from tests.service.parts import PATIENCE_S

# Pause after a cancellation that was swallowed, as redis-py does to the first one of nearly every replica
concurrency.CANCEL_EVERY_S = 0.01


MEMORY, ROOM_BYTES = Path("/dev/shm"), 2 << 30


@contextmanager
def start_valkey() -> Iterator[EmbeddedValkey]:
    has_room = MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > ROOM_BYTES
    with (
        TemporaryDirectory(dir=MEMORY if has_room else None) as folder,
        EmbeddedValkey(Path(folder) / "valkey") as server,
    ):
        yield server


@pytest.fixture(scope="session")
def valkey() -> Iterator[EmbeddedValkey]:
    with start_valkey() as server:
        yield server


@pytest.fixture
def raw(valkey: EmbeddedValkey) -> Iterator[redis.Redis]:
    """Return a client for damage to the server, which is empty at first."""
    with redis.Redis.from_url(valkey.url) as client:
        client.flushall()
        yield client


@pytest.fixture
async def connection(valkey: EmbeddedValkey, raw: redis.Redis) -> AsyncIterator[Connection]:
    """To an empty server."""
    connection = Connection(valkey.url, PATIENCE_S)
    yield connection
    await connection.aclose()


@pytest.fixture
async def ledger(valkey: EmbeddedValkey, raw: redis.Redis) -> AsyncIterator[RedisLedger]:
    ledger = RedisLedger.connect(valkey.url)
    yield ledger
    await ledger.aclose()


@pytest.fixture
def own_valkey() -> Iterator[EmbeddedValkey]:
    """Run a server that the test may kill or freeze."""
    with start_valkey() as server:
        yield server
