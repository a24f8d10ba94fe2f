"""A connection that the other side has closed is a ledger that is away, on every event loop a process may run.

Ray Serve's replicas run on uvloop, which raises a RuntimeError for a write to such a connection, where asyncio raises
an OSError or nothing. redis-py comes to it when a server ends in the middle of its greeting.
"""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import pytest
import uvloop

from service.errors import LedgerUnavailable
from service.ledger.redis.connection import Connection


async def _write_to_who_is_gone(path: Path) -> None:
    connection = Connection(f"unix://{path}", 1)
    _, writer = await asyncio.open_unix_connection(path)
    writer.transport.abort()
    await asyncio.sleep(0.05)  # until it has
    with pytest.raises(LedgerUnavailable, match="failed to talk: it hung up"):
        async with connection.call("talk"):
            writer.writelines([b"PING\r\n"])
    await connection.aclose()


def test_who_has_hung_up_is_away(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "s"))
        listener.listen()
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(_write_to_who_is_gone(tmp_path / "s"))


async def test_an_error_of_our_own_is_not_taken_for_it() -> None:
    connection = Connection("redis://127.0.0.1:1", 1)
    with pytest.raises(RuntimeError, match="a mistake"):
        async with connection.call("talk"):
            raise RuntimeError("a mistake")
    await connection.aclose()
