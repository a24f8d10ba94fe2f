"""Whether the server at the given address can hold the ledger, asked once, before anything depends on it.

Features are tried, not deduced from a version number: Valkey 9 calls itself Redis 7.2.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeAlias
from uuid import uuid4

from redis.exceptions import (
    AuthenticationError,
    ClusterDownError,
    ConnectionError,
    ResponseError,
    TimeoutError,
)

from service.errors import LedgerUnavailable
from service.ledger import keys
from service.ledger.commit import corrupt
from service.ledger.connection import Connection
from service.ledger.schema import bring_up
from service.ledger.script import lua

Trial: TypeAlias = Callable[[Any, str], Awaitable[object]]

TRIALS: dict[str, Trial] = {
    "streams": lambda redis, key: redis.xadd(key, {"commit": "{}"}, id="1-0"),
    "scripts": lambda redis, key: redis.eval(lua("end"), 1, key),
    "ranges by score (6.2)": lambda redis, key: redis.zrange(
        key + ":none", 1, 0, desc=True, byscore=True, offset=0, num=1
    ),
}

SETTINGS = ("append*", "maxmemory", "maxmemory-policy", "min-replicas-to-write")


@dataclass(frozen=True)
class Server:
    """What answered. appendonly, appendfsync: None where it does not tell. warnings: whole sentences."""

    name: str
    version: str
    appendonly: str | None
    appendfsync: str | None
    warnings: tuple[str, ...]


async def check(connection: Connection) -> Server:
    """LedgerUnavailable says why this server cannot hold the ledger; LedgerCorrupt that its log has holes."""
    async with connection.bounded("answer"):
        await _talk(connection)
    async with connection.bounded("pass the start-up check"):
        await _try_features(connection)
        await _look_for_holes(connection)
        server = await _describe(connection)
    await bring_up(connection)
    return server


async def _talk(connection: Connection) -> None:
    """Say something that only a server which understood it can repeat."""
    word = uuid4().hex.encode()
    try:
        if await connection.commands.echo(word) != word:
            raise ValueError("it repeats something else than it was told")
    except AuthenticationError as error:
        raise _unfit(
            connection, f"wants a password, and the right one ({error}): put it into the address"
        ) from error
    except (ConnectionError, TimeoutError, ResponseError):
        raise  # said in its own words by `bounded`
    except Exception as error:  # whatever else a parser says to a stranger's bytes
        raise _unfit(connection, f"answered, but is not Redis or Valkey ({error})") from error


async def _try_features(connection: Connection) -> None:
    key = keys.check(uuid4().hex)
    try:
        for feature, trial in TRIALS.items():
            try:
                await trial(connection.commands, key)
            except ClusterDownError:
                raise  # said in the cluster's words by `bounded`
            except ResponseError as error:
                raise _unfit(connection, f"cannot do {feature} ({error}): Redis 6.2 can") from error
    finally:
        await connection.commands.delete(key)


async def _look_for_holes(connection: Connection) -> None:
    head, _ = await connection.commands.eval(lua("end"), 1, keys.LOG)
    length = int(await connection.commands.xlen(keys.LOG))
    if length != head:
        raise corrupt(head, f"the log holds {length} entries and not {head}: some were deleted")


async def _describe(connection: Connection) -> Server:
    facts, settings = await _facts(connection, "server"), await _settings(connection)
    name = str(facts.get("server_name", "redis"))
    version = str(facts.get(f"{name}_version", facts.get("redis_version", "?")))
    appendonly, appendfsync = settings.get("appendonly"), settings.get("appendfsync")
    kept, replication = [await _facts(connection, section) for section in ("persistence", "replication")]
    warnings = _warnings(settings, kept)
    if (await _facts(connection, "cluster")).get("cluster_enabled") == 1:
        warnings += _replication_warnings("a cluster", replication, settings)
    elif replication.get("connected_slaves", 0) != 0:
        warnings += _replication_warnings("a server with replicas", replication, settings)
    return Server(name, version, appendonly, appendfsync, tuple(warnings))


async def _facts(connection: Connection, section: str) -> dict[str, object]:
    try:
        return dict(await connection.commands.info(section))
    except ResponseError:  # not allowed to know
        return {}


async def _settings(connection: Connection) -> dict[str, str]:
    """{} where the server keeps its configuration to itself, as hosted ones do."""
    try:
        found = await connection.commands.config_get(*SETTINGS)
    except ResponseError:
        return {}
    return {_text(name): _text(value) for name, value in found.items()}


def _warnings(settings: dict[str, str], kept: dict[str, object]) -> list[str]:
    """kept: what INFO tells of it to those who must not see the configuration."""
    if not settings and kept.get("aof_enabled") == 0:
        return ["appendonly is not yes: an acknowledged edit can be lost; set it in the server"]
    if not settings:
        return ["the server does not tell how it persists: make sure of appendonly yes, appendfsync always"]
    warnings = []
    if settings.get("appendonly") != "yes":
        warnings.append("appendonly is not yes: an acknowledged edit can be lost; set it in the server")
    elif settings.get("appendfsync") != "always":
        warnings.append("appendfsync is not always: a crash of the machine can lose the last second of edits")
    if settings.get("maxmemory", "0") != "0" and settings.get("maxmemory-policy") != "noeviction":
        warnings.append("maxmemory-policy is not noeviction: the server may throw rows away when it is full")
    return warnings


def _replication_warnings(what: str, replication: dict[str, object], settings: dict[str, str]) -> list[str]:
    risk = f"{what} acknowledges an edit before a replica has it, and a master that dies can take it along"
    if settings.get("min-replicas-to-write", "0") == "0":
        warnings = [f"{risk}: min-replicas-to-write 1 makes that rare, not impossible"]
    else:
        warnings = [f"{risk}, though min-replicas-to-write makes that rare"]
    if replication.get("connected_slaves") == 0:
        warnings.append("the node that has the ledger has no replica: while it is down there are no edits")
    return warnings


def _text(value: bytes | str) -> str:
    return value.decode() if isinstance(value, bytes) else value


def _unfit(connection: Connection, why: str) -> LedgerUnavailable:
    return LedgerUnavailable(f"what listens at {connection.address} {why}")
