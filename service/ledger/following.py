"""The ledger is where one of several servers is, and may move to another: calls go where it was found last.

Whoever finds it says who has it now: cluster_view.py asks the nodes of a cluster, sentinels.py the watchmen of a master
and its replicas.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Protocol, TypeAlias, TypeVar

from redis.exceptions import (
    ClusterDownError,
    ConnectionError,
    MovedError,
    ReadOnlyError,
    RedisError,
    TimeoutError,
)

from service.ledger.address import Server
from service.ledger.pool import Pool

T = TypeVar("T")
Node: TypeAlias = tuple[str, int]  # host and port

LOST = (ConnectionError, TimeoutError, OSError, ClusterDownError, MovedError, ReadOnlyError)


class Finder(Protocol):
    """Knows the servers there are."""

    async def holder(self) -> Node:
        """Who has the ledger. A RedisError or OSError when nobody has, or nobody tells."""

    def server(self, node: Node) -> Server:
        """How to connect to it."""


class Following:
    """Talks to the holder. Whatever ends without an answer makes the next call ask who that is."""

    def __init__(self, finder: Finder, pool: Pool) -> None:
        self._finder, self._pool = finder, pool
        self._at: Node | None = None
        self._redis: Any = None  # of the node `_at`
        self._sure = False
        self._asking = asyncio.Lock()

    async def run(self, act: Callable[[Any], Awaitable[T]]) -> T:
        try:
            return await self._try(act)
        except LOST:
            return await self._try(act)

    async def _try(self, act: Callable[[Any], Awaitable[T]]) -> T:
        try:
            return await act(await self._holder())
        except MovedError as error:
            await self._go_to(_told(error, self._at))
            raise
        except (*LOST, asyncio.CancelledError):  # out of time is cancelled
            self._sure = False
            raise

    async def _holder(self) -> Any:
        if self._redis is None or not self._sure:
            async with self._asking:
                if self._redis is None or not self._sure:
                    await self._go_to(await self._finder.holder())
        return self._redis

    async def _go_to(self, node: Node) -> None:
        left, self._sure = self._redis, True
        if left is None or node != self._at:
            self._at, self._redis = node, self._pool.client(self._finder.server(node), retries=0)
            if left is not None:
                await _leave(left)

    async def aclose(self) -> None:
        if self._redis is not None:
            await self._redis.aclose()


def _told(error: MovedError, by: Node | None) -> Node:
    """Where MOVED points to; without a host, to the one that was asked."""
    return error.host or (by[0] if by else ""), error.port


async def _leave(redis: Any) -> None:
    """Calls on their way there may end; what is idle is closed now, the rest when it comes back to the pool."""
    with suppress(RedisError, OSError):
        await redis.connection_pool.update_active_connections_for_reconnect()
        await redis.connection_pool.disconnect(inuse_connections=False)
