"""The only way to Redis: every call ends in time, and every failure is a LedgerUnavailable.

Commands share one pool. The tail has a second one, because a blocking read occupies its connection.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import unquote

from redis.commands import AsyncCoreCommands
from redis.exceptions import RedisError, ResponseError
from redis.exceptions import TimeoutError as RedisTimeout

from service.errors import LedgerUnavailable
from service.ledger.redis import address
from service.ledger.redis.address import ServerSettings
from service.ledger.redis.cluster import ClusterLocator, describe_error
from service.ledger.redis.failover import FailoverEndpoint
from service.ledger.redis.pool import Pool
from service.ledger.redis.sentinel import SentinelLocator
from service.tracing import CALL, span

POOL_SIZE, TAIL_POOL_SIZE = 16, 8  # connections for commands and for blocking reads
TAIL_BLOCK_S = 1.0
LIMIT_S = 5.0
DATA = "appendonlydir"  # folder of an embedded server's data, beside its socket
ROOM_BYTES = 65_536  # free bytes of a disk below which an embedded server may fail to write an edit
UVLOOP_CLOSED = "the handler is closed"  # text of the RuntimeError for a write to a connection that has ended

T = TypeVar("T")


class Connection:
    """Clients of the server at an address; nothing is sent before the first command.

    Attributes:
        commands: The client for commands.
        tail: The client for blocking reads.
        limit_s: Seconds after which a call raises LedgerUnavailable.
    """

    def __init__(self, url: str, limit_s: float = LIMIT_S) -> None:
        self.limit_s = limit_s
        self.address = address.redact(url)
        scheme, _, path = self.address.partition("://")
        self._folder = Path(unquote(path)).parent if scheme == "unix" else None
        # Any: redis-py types every reply as bytes or str; these clients return bytes
        self.commands: Any = _create_client(url, Pool(POOL_SIZE, limit_s, limit_s))
        self.tail: Any = _create_client(url, Pool(TAIL_POOL_SIZE, limit_s + TAIL_BLOCK_S, limit_s))

    @asynccontextmanager
    async def call(self, purpose: str, extra_s: float = 0.0) -> AsyncIterator[None]:
        """Bound the body by `limit_s + extra_s`, and map foreign exceptions, which no other place does.

        Args:
            purpose: A verb phrase, as in "the ledger failed to PURPOSE".
            extra_s: Seconds beyond `limit_s`.

        Raises:
            LedgerUnavailable: Its cause is the foreign exception.
        """
        try:
            with span(purpose, CALL, **{"db.system.name": "redis", "server.address": self.address}):
                async with asyncio.timeout(self.limit_s + extra_s):
                    yield
        except TimeoutError as error:
            raise self._failure(purpose, f"no reply within {self.limit_s + extra_s:g} s") from error
        except (RedisError, OSError) as error:
            raise self._failure(purpose, describe_error(error)) from error
        except RuntimeError as error:
            if UVLOOP_CLOSED not in str(error):
                raise
            raise self._failure(purpose, "it hung up") from error

    def _failure(self, purpose: str, why: str) -> LedgerUnavailable:
        detail = f"the ledger at {self.address} failed to {purpose}: {why.rstrip('.')}"
        return LedgerUnavailable(f"{detail}; {self._find_full_disk() or 'try again when it answers'}")

    def check_room(self) -> None:
        """Raise LedgerUnavailable if the server is embedded and its disk is full, for it reads and cannot write."""
        if reason := self._find_full_disk():
            raise LedgerUnavailable(reason)

    def _find_full_disk(self) -> str | None:
        if self._folder is None:
            return None
        with suppress(OSError):  # an operator's own server has another folder
            disk = os.statvfs(self._folder / DATA)
            if disk.f_bavail * disk.f_frsize < ROOM_BYTES:
                return (
                    f"the store cannot write, as the disk of {self._folder} is full: make room and try again"
                )
        return None

    async def aclose(self) -> None:
        await self.commands.aclose()
        await self.tail.aclose()


def _create_client(url: str, pool: Pool) -> RedisClient:
    try:
        sentinels = address.parse_sentinels(url)
        if sentinels is not None:
            endpoint = FailoverEndpoint(SentinelLocator(sentinels, pool), pool)
            return RedisClient([sentinels.master], pool, endpoint)
        return RedisClient(address.parse_servers(url), pool)
    except ValueError as error:
        raise LedgerUnavailable(f"the address of Redis cannot be read: {address.FORMS}") from error


def is_timeout(error: LedgerUnavailable) -> bool:
    """Return whether a smaller request might end in time; otherwise the server answers none."""
    return isinstance(error.__cause__, (TimeoutError, RedisTimeout))


class RedisClient(AsyncCoreCommands):
    """Redis' commands for a single server, a cluster or a master behind Sentinels, all used in one way.

    Every command of redis-py ends in `execute_command` here, or in that of a pipeline. A command is retried once, and
    no command does harm if it is sent twice: scripts recognise a repetition, and the audit may list a call twice.
    """

    _event_dispatcher: Any = None  # redis-py's commands declare it and do not need it

    def __init__(
        self, servers: Sequence[ServerSettings], pool: Pool, failover: FailoverEndpoint | None = None
    ) -> None:
        """Send nothing yet. Without `failover`, the first command asks whether the server is part of a cluster."""
        self._servers, self._pool, self._failover = servers, pool, failover
        self._first = pool.client(servers[0], retries=1)
        self._is_detected = failover is not None
        self._detecting = asyncio.Lock()

    async def run(self, command: Callable[[Any], Awaitable[T]]) -> T:
        """Run `command` with a client of the server that has our keys; once more if they have moved meanwhile."""
        if not self._is_detected:
            async with self._detecting:
                if not self._is_detected:
                    self._failover = await self._detect()
                    self._is_detected = True
        return await (command(self._first) if self._failover is None else self._failover.run(command))

    async def execute_command(self, *args: Any, **options: Any) -> Any:
        return await self.run(lambda redis: redis.execute_command(*args, **options))

    def pipeline(self, transaction: bool = True) -> Pipeline:
        return Pipeline(self, transaction)

    def get_encoder(self) -> Any:
        """Return the encoder that redis-py's `register_script` needs."""
        return self._first.get_encoder()

    async def aclose(self) -> None:
        await self._first.aclose()
        if self._failover is not None:
            await self._failover.aclose()

    async def _detect(self) -> FailoverEndpoint | None:
        """Return None for a single server.

        HELLO distinguishes it from a node of a cluster, and every user may send HELLO.
        """
        if len(self._servers) == 1:
            hello = await self._first.execute_command("HELLO")
            if not (isinstance(hello, dict) and hello.get(b"mode") == b"cluster"):
                return None
        if "path" in self._servers[0]:
            raise ResponseError("a node of a cluster is named by its host and port, not by a socket file")
        await self._first.aclose()
        return FailoverEndpoint(ClusterLocator(self._servers, self._pool), self._pool)


class Pipeline(AsyncCoreCommands):
    """Commands that are sent together. They wait here, because the server is known only when they are sent."""

    _event_dispatcher: Any = None

    def __init__(self, client: RedisClient, transaction: bool) -> None:
        self._client, self._transaction = client, transaction
        self._commands: list[tuple[Any, dict[str, Any]]] = []

    def execute_command(self, *args: Any, **options: Any) -> Any:
        self._commands.append((args, options))
        return self

    async def execute(self) -> list[Any]:
        """Send the commands, clear the pipeline and return the replies in order.

        The first error is raised after all commands were sent.
        """
        commands, self._commands = self._commands, []
        if not commands:
            return []

        async def send(redis: Any) -> list[Any]:
            pipeline = redis.pipeline(transaction=self._transaction)
            for args, options in commands:
                pipeline.execute_command(*args, **options)
            return list(await pipeline.execute())

        return await self._client.run(send)
