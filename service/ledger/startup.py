"""The checks of the ledger's server before anything depends on it, and the wait for it.

Features are tried, not deduced from a version number: Valkey 9 calls itself Redis 7.2. A process that fails instead
of waiting is started again by Ray, but only a few times.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from itertools import takewhile
from operator import attrgetter
from typing import Any, TypeAlias, TypeVar
from uuid import uuid4

from more_itertools import iterate
from redis.exceptions import (
    AuthenticationError,
    AuthorizationError,
    ConnectionError,
    MovedError,
    NoPermissionError,
    ResponseError,
    TimeoutError,
)

from service.errors import LedgerUnavailable
from service.ledger import keys
from service.ledger.commit import corrupt
from service.ledger.connection import Connection, load_script
from service.ledger.layout_version import check_layout

log = logging.getLogger(__name__)


T = TypeVar("T")
Trial: TypeAlias = Callable[[Any, str], Awaitable[object]]

TRIALS: dict[str, Trial] = {
    "streams": lambda redis, key: redis.xadd(key, {"commit": "{}"}, id="1-0"),
    "scripts": lambda redis, key: redis.eval(load_script("end"), 1, key),
    "ranges by score (6.2)": lambda redis, key: redis.zrange(
        key + ":none", 1, 0, desc=True, byscore=True, offset=0, num=1
    ),
}
SETTINGS = ("append*", "min-replicas-to-write")
RETRY_S, LOG_EVERY_S = 0.5, 30.0
REFUSALS = (AuthenticationError, AuthorizationError, MovedError, NoPermissionError)


@dataclass(frozen=True)
class Server:
    """The server that answered. `warnings` are whole sentences on how well it keeps acknowledged writes."""

    name: str
    version: str
    warnings: tuple[str, ...]


async def check_address(url: str) -> Server:
    """Check the server at an address as `check_server` does, over a connection for this check alone."""
    connection = Connection(url)
    try:
        return await check_server(connection)
    finally:
        await connection.aclose()


async def check_server(connection: Connection) -> Server:
    """Check that the server can hold the ledger in our layout.

    Raises:
        LedgerUnavailable: The server cannot hold the ledger; the error says why.
        LedgerCorrupt: Its log has holes.
    """
    async with connection.call("answer"):
        await _check_protocol(connection)
    async with connection.call("pass the start-up check"):
        await _try_features(connection)
        head, _ = await connection.commands.eval(load_script("end"), 1, keys.LOG)
        length = int(await connection.commands.xlen(keys.LOG))
        if length != head:
            raise corrupt(head, f"the log holds {length} entries and not {head}: some were deleted")
        server = await _describe(connection)
    await check_layout(connection)
    return server


async def _check_protocol(connection: Connection) -> None:
    """Send a word that only a server of the Redis protocol repeats."""
    word = uuid4().hex.encode()
    try:
        if await connection.commands.echo(word) != word:
            raise ValueError("its ECHO returns another word")
    except AuthenticationError as error:
        raise _unfit(
            connection, f"refuses this user or password ({error}): put the right ones into the address"
        ) from error
    except (ConnectionError, TimeoutError, ResponseError) as error:
        if "authenticated" in str(error):  # HELLO without a password
            raise _unfit(connection, "asks for a password: put it into the address") from error
        raise  # mapped by `Connection.call`
    except Exception as error:  # a parser may raise anything on the bytes of another protocol
        raise _unfit(connection, f"answered, but is not Redis or Valkey ({error})") from error


async def _try_features(connection: Connection) -> None:
    key = keys.check(uuid4().hex)
    try:
        for feature, trial in TRIALS.items():
            try:
                await trial(connection.commands, key)
            except MovedError:
                raise  # mapped by `Connection.call`
            except ResponseError as error:
                raise _unfit(connection, f"cannot do {feature} ({error}): Redis 6.2 can") from error
    finally:
        await connection.commands.delete(key)


def _unfit(connection: Connection, why: str) -> LedgerUnavailable:
    return LedgerUnavailable(f"the server at {connection.address} {why}")


async def _describe(connection: Connection) -> Server:
    async def info(section: str) -> dict[str, object]:
        try:
            return dict(await connection.commands.info(section))
        except ResponseError:  # this user may not read it
            return {}

    sections = ("server", "persistence", "replication", "memory")
    identity, persistence, replication, memory = [await info(section) for section in sections]
    name = str(identity.get("server_name", "redis"))
    version = str(identity.get(f"{name}_version", identity.get("redis_version", "?")))
    try:
        config = await connection.commands.config_get(*SETTINGS)
    except ResponseError:  # hosted servers keep their configuration to themselves
        config = {}
    settings = {_text(key): _text(value) for key, value in config.items()}
    warnings = _persistence_warnings(settings, persistence)
    if memory.get("maxmemory", 0) != 0 and memory.get("maxmemory_policy", "noeviction") != "noeviction":
        warnings.append("maxmemory-policy is not noeviction: the server may throw rows away when it is full")
    if replication.get("connected_slaves", 0) != 0:
        warnings.append(_replication_warning(settings))
    return Server(name, version, tuple(warnings))


def _text(value: bytes | str) -> str:
    return value.decode() if isinstance(value, bytes) else value


def _persistence_warnings(settings: Mapping[str, str], persistence: Mapping[str, object]) -> list[str]:
    """List how the server may lose acknowledged edits; without `settings`, INFO's `persistence` alone shows it."""
    is_off = settings.get("appendonly") != "yes" if settings else persistence.get("aof_enabled") == 0
    if is_off:
        return ["appendonly is not yes: an acknowledged edit can be lost; set it in the server"]
    if not settings:
        return ["the server does not show its settings: make sure of appendonly yes and appendfsync always"]
    if settings.get("appendfsync") != "always":
        return ["appendfsync is not always: a crash of the machine can lose the last second of edits"]
    return []


def _replication_warning(settings: Mapping[str, str]) -> str:
    risk = (
        "a server with replicas acknowledges an edit before a replica has it, "
        "and a master that dies can take it along"
    )
    if settings.get("min-replicas-to-write", "0") == "0":
        return f"{risk}: min-replicas-to-write 1 makes that rare, not impossible"
    return f"{risk}, though min-replicas-to-write makes that rare"


async def wait_for_ledger(step: Callable[[], Awaitable[T]], process: str) -> T:
    """Return the result of `step`, retried for as long as the ledger is away; raise any other error at once."""
    last_logged = -LOG_EVERY_S
    while True:
        try:
            return await step()
        except LedgerUnavailable as error:
            # A server that answers and refuses us is not away, nor is one whose data is from a newer Errata.
            causes = [*takewhile(bool, iterate(attrgetter("__cause__"), error.__cause__))]
            if not causes or any(isinstance(cause, REFUSALS) for cause in causes):
                raise
            if time.monotonic() - last_logged >= LOG_EVERY_S:
                last_logged = time.monotonic()
                log.warning("%s waits for the ledger before it starts: %s", process, error.detail)
        await asyncio.sleep(RETRY_S)
