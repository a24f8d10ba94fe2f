"""An empty ledger gets our layout; data of another layout, newer or older, is left alone."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import redis

from service.errors import LedgerUnavailable
from service.ledger.connection import Connection
from service.ledger.embedded.server import EmbeddedValkey
from service.ledger.keys import SCHEMA
from service.ledger.startup import LAYOUT, check_layout
from tests.service.parts import PATIENCE_S


@pytest.fixture
async def connection(valkey: EmbeddedValkey, raw: redis.Redis) -> AsyncIterator[Connection]:
    connection = Connection(valkey.url, PATIENCE_S)
    yield connection
    await connection.aclose()


async def test_an_empty_ledger_gets_our_layout_and_is_read_again(
    connection: Connection, raw: redis.Redis
) -> None:
    await check_layout(connection)
    assert raw.get(SCHEMA) == str(LAYOUT).encode()
    await check_layout(connection)


@pytest.mark.parametrize(("number", "age"), [(99, "newer"), (2, "older")])
async def test_data_of_another_layout_is_left_alone(
    connection: Connection, raw: redis.Redis, number: int, age: str
) -> None:
    raw.set(SCHEMA, number)
    with pytest.raises(LedgerUnavailable, match=rf"layout {number}, .*start the {age} one"):
        await check_layout(connection)
    assert raw.get(SCHEMA) == str(number).encode()
