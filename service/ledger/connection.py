"""The only way to Redis from the ledger: every call ends in time, and every failure is ours.

Two pools. Commands share the first. The tail has its own, because a blocking read holds its connection.
Replies are RESP3 in redis-py's new shapes and raw bytes, because rows are bytes. One retry: no command here
does harm when it is sent twice (append.lua recognises a commit it has seen).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.exceptions import TimeoutError as SlowReply

from service.errors import LedgerUnavailable

MAX_CONNECTIONS = 16
MAX_TAILS = 8
TAIL_BLOCK_S = 1.0


class Connection:
    """commands, tail: clients. limit_s: how long one call may take before it is LedgerUnavailable."""

    def __init__(self, url: str, limit_s: float) -> None:
        self.limit_s = limit_s
        self.address = without_secrets(url)
        # Any: redis-py types every reply for both bytes and str; these clients give bytes alone
        self.commands: Any = _client(url, MAX_CONNECTIONS, limit_s, limit_s)
        self.tail: Any = _client(url, MAX_TAILS, limit_s + TAIL_BLOCK_S, limit_s)

    @asynccontextmanager
    async def bounded(self, doing: str, extra_s: float = 0.0) -> AsyncIterator[None]:
        """Foreign exceptions become LedgerUnavailable here and nowhere else."""
        try:
            async with asyncio.timeout(self.limit_s + extra_s):
                yield
        except TimeoutError as error:
            took = f"no reply within {self.limit_s + extra_s:g} s"
            raise LedgerUnavailable(self._failed(doing, took)) from error
        except (RedisError, OSError) as error:
            raise LedgerUnavailable(self._failed(doing, str(error))) from error

    def _failed(self, doing: str, why: str) -> str:
        return f"the ledger at {self.address} failed to {doing}: {why.rstrip('.')}; try again when it answers"

    async def aclose(self) -> None:
        await self.commands.aclose()
        await self.tail.aclose()


def _client(url: str, max_connections: int, socket_timeout_s: float, connect_timeout_s: float) -> Redis:
    settings: dict[str, Any] = {
        "max_connections": max_connections,
        "timeout": connect_timeout_s,
        "socket_timeout": socket_timeout_s,
        "socket_connect_timeout": connect_timeout_s,
        "retry": Retry(NoBackoff(), 1),
        "protocol": 3,
        "legacy_responses": False,
        "decode_responses": False,
    }
    try:
        return Redis.from_pool(BlockingConnectionPool.from_url(url, **settings))
    except ValueError as error:
        forms = "write redis://HOST:PORT/DB, rediss://HOST:PORT/DB or unix:///PATH"
        advice = f"{forms}, and signs in a password as %XX ([ is %5B)"
        raise LedgerUnavailable(f"the address of Redis cannot be read: {advice}") from error


def timed_out(error: LedgerUnavailable) -> bool:
    """Whether less might have been done in time; otherwise nobody answers, and asking for less is of no use."""
    return isinstance(error.__cause__, (TimeoutError, SlowReply))


def without_secrets(url: str) -> str:
    """The address as it may stand in a message: no user, no password, no query."""
    try:
        parts = urlsplit(url)
    except ValueError:  # a bracket without the other; where the password ends cannot be known
        return "an address that cannot be read"
    place = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{place}{parts.path}"
