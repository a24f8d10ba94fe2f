"""The ledger on a cluster: all our keys carry one hash tag, so one node has them all, and we talk to that node.

A client of that one node does whatever a client of a single server does, in one round trip: scripts,
transactions, blocking reads, INFO and TIME of the server that has the data. redis-py's RedisCluster (8.1) would
not: it starts a thread with an event loop of its own for each command put into a transaction, and ours stands
still meanwhile; it refuses a command where the pool is full, instead of waiting; it asks for the keys of an XREAD
before each; it sends TIME and INFO to any node. What is left for us is to know the node: cluster_view.py.

What a cluster promises: it answers first and copies to the replicas afterwards. An acknowledged commit is lost when
its master dies before the copy was sent, or when it was cut off from the others and is succeeded. WAIT and
min-replicas-to-write make that rare; nothing rules it out. A replica of ours that had read such a commit notices
that the ledger is behind it or has another one in its place, and says so.

While the slot is being moved by single keys (before Valkey 9), some calls fail until that is over.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from redis.exceptions import (
    AskError,
    ClusterDownError,
    ConnectionError,
    MovedError,
    RedisError,
    TimeoutError,
    TryAgainError,
)

from service.ledger.address import Server
from service.ledger.cluster_view import Node, Nodes
from service.ledger.pool import Pool

T = TypeVar("T")

LOST = (ConnectionError, TimeoutError, OSError, ClusterDownError, MovedError)


class Cluster:
    """Follows the node that has our slot. Whatever ends without an answer makes the next call ask who that is."""

    def __init__(self, servers: Sequence[Server], pool: Pool) -> None:
        self._pool = pool
        self._nodes = Nodes(servers, pool)
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
                    await self._go_to(await self._nodes.holder())
        return self._redis

    async def _go_to(self, node: Node) -> None:
        left, self._sure = self._redis, True
        if left is None or node != self._at:
            self._at, self._redis = node, self._pool.client(self._nodes.server(node), retries=0)
            if left is not None:
                await _leave(left)

    async def aclose(self) -> None:
        if self._redis is not None:
            await self._redis.aclose()


def in_words(error: Exception) -> str:
    """What a cluster's error means to whoever runs it; any other error speaks for itself."""
    if isinstance(error, ClusterDownError):
        advice = "see CLUSTER INFO and CLUSTER NODES"
        return f"its cluster is in state fail, without a master for some slots or most masters ({error}): {advice}"
    if isinstance(error, MovedError):
        return "the nodes of its cluster do not agree yet which of them has the ledger"
    if isinstance(error, (AskError, TryAgainError)):
        return "its cluster is moving the ledger from one node to another"
    return str(error)


def _told(error: MovedError, by: Node | None) -> Node:
    """Where MOVED points to; without a host, to the one that was asked."""
    return error.host or (by[0] if by else ""), error.port


async def _leave(redis: Any) -> None:
    """Calls on their way there may end; what is idle is closed now, the rest when it comes back to the pool."""
    with suppress(RedisError, OSError):
        await redis.connection_pool.update_active_connections_for_reconnect()
        await redis.connection_pool.disconnect(inuse_connections=False)
