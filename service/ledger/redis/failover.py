"""Failover: calls go to the server that holds the ledger, and after a failed call the holder is located again.

Several servers are asked for the holder at once: the nodes of a cluster (cluster.py) or the Sentinels of a master
and its replicas (sentinel.py).
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Hashable, Sequence
from contextlib import suppress
from typing import Any, Protocol, TypeAlias, TypeVar

from redis.exceptions import (
    ClusterDownError,
    ConnectionError,
    MovedError,
    ReadOnlyError,
    RedisError,
)
from redis.exceptions import TimeoutError as RedisTimeout

from service.concurrency import cancel_and_wait
from service.ledger.redis.address import ServerSettings
from service.ledger.redis.pool import Pool

T = TypeVar("T")
Node: TypeAlias = tuple[str, int]  # host and port

# Share of a call's time for locating the holder: at worst it is located twice, and the rest is for the call.
SHARE_OF_LIMIT = 0.4
MAY_HAVE_MOVED = (ConnectionError, RedisTimeout, OSError, ClusterDownError, MovedError, ReadOnlyError)


class Locator(Protocol):
    """Knows the servers that may hold the ledger."""

    async def locate(self) -> Node:
        """Find the holder; raise RedisError or OSError if there is none, or no server answers."""

    def settings(self, node: Node) -> ServerSettings:
        """Return the settings of a connection to `node`."""


class FailoverEndpoint:
    """Talks to the holder. After a call without an answer, the next call locates the holder again."""

    def __init__(self, locator: Locator, pool: Pool) -> None:
        self._locator, self._pool = locator, pool
        self._node: Node | None = None
        self._redis: Any = None  # client of `_node`
        self._certain = False
        self._locating = asyncio.Lock()

    async def run(self, command: Callable[[Any], Awaitable[T]]) -> T:
        """Run `command` with a client of the holder, and a second time if the holder may have changed."""
        try:
            return await self._run_once(command)
        except MAY_HAVE_MOVED:
            return await self._run_once(command)

    async def _run_once(self, command: Callable[[Any], Awaitable[T]]) -> T:
        try:
            if not self._certain:
                async with self._locating:
                    if not self._certain:
                        await self._connect(await self._locator.locate())
            return await command(self._redis)
        except MovedError as error:  # an error without a host means the node that was asked
            await self._connect((error.host or (self._node[0] if self._node else ""), error.port))
            raise
        except (*MAY_HAVE_MOVED, asyncio.CancelledError):  # a call that is out of time is cancelled
            self._certain = False
            raise

    async def _connect(self, node: Node) -> None:
        """Switch to `node`. Connections to the former holder are closed: idle ones now, the rest after their calls."""
        former = self._redis
        if former is None or node != self._node:
            self._node, self._redis = node, self._pool.client(self._locator.settings(node), retries=0)
        self._certain = True
        if former is not None and former is not self._redis:
            with suppress(RedisError, OSError):
                await former.connection_pool.update_active_connections_for_reconnect()
                await former.connection_pool.disconnect(inuse_connections=False)

    async def aclose(self) -> None:
        if self._redis is not None:
            await self._redis.aclose()


async def ask_quorum(
    requests: Sequence[Coroutine[Any, Any, T]], pool: Pool, vote: Callable[[T], Hashable]
) -> list[T]:
    """Ask several servers at once, so that a frozen one delays no call, until most of them agree.

    Args:
        requests: One request for each server.
        pool: Limits the time.
        vote: Extracts from a reply the value on which the servers have to agree.

    Returns:
        At least one reply.

    Raises:
        RedisError, OSError: A server failed, or none answered in time.
    """
    replies: list[T] = []
    timeout_s = pool.connect_s * SHARE_OF_LIMIT
    failure: Exception = RedisTimeout(f"none of its nodes answered within {timeout_s:g} s")
    tasks = [asyncio.create_task(request) for request in requests]
    try:
        async with asyncio.timeout(timeout_s):
            for reply in asyncio.as_completed(tasks):
                try:
                    replies.append(await reply)
                except (RedisError, OSError) as error:
                    failure = error
                if max(Counter(map(vote, replies)).values(), default=0) > len(tasks) / 2:
                    break
    except TimeoutError:
        pass
    finally:
        await cancel_and_wait(tasks)
    if not replies:
        raise failure
    return replies
