"""The only way to Redis from the ledger: every call ends in time, and every failure is ours.

Two pools. Commands share the first. The tail has its own, because a blocking read holds its connection.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from redis.exceptions import RedisError
from redis.exceptions import TimeoutError as SlowReply

from service.errors import LedgerUnavailable
from service.ledger import address
from service.ledger.client import Client
from service.ledger.cluster import in_words
from service.ledger.following import Following
from service.ledger.pool import Pool
from service.ledger.sentinels import Sentinels
from service.tracing import CALL, span

MAX_CONNECTIONS = 16
MAX_TAILS = 8
TAIL_BLOCK_S = 1.0
UVLOOP_CLOSED = "the handler is closed"  # a RuntimeError: somebody writes to a connection that has ended


class Connection:
    """commands, tail: clients of whatever is at the address; nothing is sent before the first command.

    limit_s: how long one call may take before it is LedgerUnavailable.
    """

    def __init__(self, url: str, limit_s: float) -> None:
        self.limit_s = limit_s
        self.address = address.without_secrets(url)
        # Any: redis-py types every reply for both bytes and str; these clients give bytes alone
        self.commands: Any = _client(url, Pool(MAX_CONNECTIONS, limit_s, limit_s))
        self.tail: Any = _client(url, Pool(MAX_TAILS, limit_s + TAIL_BLOCK_S, limit_s))

    @asynccontextmanager
    async def bounded(self, doing: str, extra_s: float = 0.0) -> AsyncIterator[None]:
        """Foreign exceptions become LedgerUnavailable here and nowhere else."""
        try:
            with span(doing, CALL, **{"db.system.name": "redis", "server.address": self.address}):
                async with asyncio.timeout(self.limit_s + extra_s):
                    yield
        except TimeoutError as error:
            took = f"no reply within {self.limit_s + extra_s:g} s"
            raise LedgerUnavailable(self._failed(doing, took)) from error
        except (RedisError, OSError) as error:
            raise LedgerUnavailable(self._failed(doing, in_words(error))) from error
        except RuntimeError as error:
            if UVLOOP_CLOSED not in str(error):
                raise
            raise LedgerUnavailable(self._failed(doing, "it hung up")) from error

    def _failed(self, doing: str, why: str) -> str:
        return f"the ledger at {self.address} failed to {doing}: {why.rstrip('.')}; try again when it answers"

    async def aclose(self) -> None:
        await self.commands.aclose()
        await self.tail.aclose()


def _client(url: str, pool: Pool) -> Client:
    try:
        watched = address.watched(url)
        if watched is not None:
            return Client([watched.server], pool, Following(Sentinels(watched, pool), pool))
        return Client(address.servers(url), pool)
    except ValueError as error:
        raise LedgerUnavailable(f"the address of Redis cannot be read: {address.FORMS}") from error


def timed_out(error: LedgerUnavailable) -> bool:
    """Whether less might have been done in time; otherwise nobody answers, and asking for less is of no use."""
    return isinstance(error.__cause__, (TimeoutError, SlowReply))
