"""Redis' commands for whatever is at the address, so that nothing else in the ledger knows what that is.

It is asked on the first command: HELLO tells a node of a cluster from a single server, and may be said by
everybody. One retry: no command here does harm when it is sent twice (the scripts recognise what they have done; a call
may stand in the audit twice).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol, TypeVar

from redis.commands import AsyncCoreCommands
from redis.exceptions import ResponseError

from service.ledger.address import Server
from service.ledger.cluster_view import Nodes
from service.ledger.following import Following
from service.ledger.pool import Pool

T = TypeVar("T")


class Place(Protocol):
    """Where commands can be sent: one server, or whichever of several has our keys."""

    async def run(self, act: Callable[[Any], Awaitable[T]]) -> T: ...

    async def aclose(self) -> None: ...


class SingleServer:
    def __init__(self, redis: Any) -> None:
        self._redis = redis

    async def run(self, act: Callable[[Any], Awaitable[T]]) -> T:
        return await act(self._redis)

    async def aclose(self) -> None:
        await self._redis.aclose()


class Client(AsyncCoreCommands):
    """Every command of redis-py ends in `execute_command` here, or in that of a pipeline."""

    _event_dispatcher: Any = None  # redis-py's commands declare it; none of them needs it

    def __init__(self, servers: Sequence[Server], pool: Pool, place: Place | None = None) -> None:
        """Sends nothing. place: where it is known without asking that it is no single server and no cluster."""
        self._servers, self._pool, self._place = servers, pool, place
        self._first = pool.client(servers[0], retries=1)
        self._asking = asyncio.Lock()

    async def run(self, act: Callable[[Any], Awaitable[T]]) -> T:
        """`act` with a client of the server that has our keys; once more, should they have moved meanwhile."""
        return await (self._place or await self._found()).run(act)

    async def execute_command(self, *args: Any, **options: Any) -> Any:
        return await self.run(lambda redis: redis.execute_command(*args, **options))

    def pipeline(self, transaction: bool = True) -> Pipeline:
        return Pipeline(self, transaction)

    def get_encoder(self) -> Any:
        """register_script asks for it."""
        return self._first.get_encoder()

    async def aclose(self) -> None:
        await self._first.aclose()
        if self._place is not None:
            await self._place.aclose()

    async def _found(self) -> Place:
        async with self._asking:
            if self._place is None:
                self._place = await self._ask()
            return self._place

    async def _ask(self) -> Place:
        if len(self._servers) == 1 and not _clustered(await self._first.execute_command("HELLO")):
            return SingleServer(self._first)
        if "path" in self._servers[0]:
            raise ResponseError("a node of a cluster is named by its host and port, and not by a socket file")
        await self._first.aclose()
        return Following(Nodes(self._servers, self._pool), self._pool)


class Pipeline(AsyncCoreCommands):
    """Commands that go out together. They wait here, because where they go to is known only when they do."""

    _event_dispatcher: Any = None

    def __init__(self, client: Client, transaction: bool) -> None:
        self._client, self._transaction = client, transaction
        self._waiting: list[tuple[Any, dict[str, Any]]] = []

    def execute_command(self, *args: Any, **options: Any) -> Any:
        self._waiting.append((args, options))
        return self

    async def execute(self) -> list[Any]:
        """The replies in order, and an empty pipeline. The first error is raised after all were sent."""
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return []

        async def send(redis: Any) -> list[Any]:
            pipeline = redis.pipeline(transaction=self._transaction)
            for args, options in waiting:
                pipeline.execute_command(*args, **options)
            return list(await pipeline.execute())

        return await self._client.run(send)


def _clustered(hello: Any) -> bool:
    return isinstance(hello, dict) and hello.get(b"mode") == b"cluster"
