"""A worklist in a real server, whose time is set by hand."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
import redis

from service.curation.gaps import Worklist
from service.ledger.connection import Connection
from service.ledger.embedded.server import EmbeddedValkey
from tests.service.parts import PATIENCE_S


class Clock:
    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def connection(valkey: EmbeddedValkey, raw: redis.Redis) -> AsyncIterator[Connection]:
    connection = Connection(valkey.url, PATIENCE_S)
    yield connection
    await connection.aclose()


@pytest.fixture
def worklist(connection: Connection, clock: Clock) -> Worklist:
    """Make a worklist of four lines at most, each kept for a day."""
    return Worklist(connection, timedelta(days=1), max_lines=4, clock=clock)
