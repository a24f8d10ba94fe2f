"""The only way to Redis: every call ends in time, and every failure is a LedgerUnavailable.

Commands share one pool. The tail has a second one, because a blocking read occupies its connection. An address names
one server, or the Sentinels of a master, which redis-py asks for it again after each failure. A master answers first
and copies to its replicas afterwards: a commit that it acknowledged is lost if it dies before the copy was sent, or is
succeeded while it is cut off. A replica of ours that had read such a commit says that the ledger is behind it.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, cast
from urllib.parse import unquote, urlsplit

from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.connection import SSLConnection, parse_url
from redis.asyncio.retry import Retry
from redis.asyncio.sentinel import Sentinel, SentinelConnectionPool
from redis.backoff import NoBackoff
from redis.driver_info import DriverInfo
from redis.exceptions import MovedError, RedisError
from redis.exceptions import TimeoutError as RedisTimeout

from service.errors import LedgerUnavailable
from service.tracing import CALL, span

ServerSettings: TypeAlias = dict[str, Any]  # redis-py's settings for the connections to one server

DRIVER = DriverInfo()  # otherwise each connection reads the metadata of the package anew
POOL_SIZE, TAIL_POOL_SIZE = 16, 8  # connections for commands and for blocking reads
TAIL_BLOCK_S = 1.0
LIMIT_S = 5.0
SENTINEL_SHARE = 0.1  # share of a call's time that one Sentinel has to answer; several may be frozen
DATA = "appendonlydir"  # folder of an embedded server's data, beside its socket
ROOM_BYTES = 65_536  # free bytes of a disk below which an embedded server may fail to write an edit
UVLOOP_CLOSED = "the handler is closed"  # text of the RuntimeError for a write to a connection that has ended
SENTINEL_PORT = 26379
SENTINEL_SCHEME = "+sentinel"
OF_MASTER = {"username", "password", "db"}
OF_SENTINELS = {"sentinel_username": "username", "sentinel_password": "password"}
FORMS = (
    "write redis://HOST:PORT/DB, rediss://HOST:PORT/DB or unix:///PATH, or the Sentinels of the master NAME as "
    "redis+sentinel://HOST:PORT,HOST:PORT/NAME/DB, and signs in a password as %XX ([ is %5B)"
)


class Connection:
    """Clients of the server at an address; nothing is sent before the first command.

    Attributes:
        limit_s: Seconds after which a call raises LedgerUnavailable.
    """

    def __init__(self, url: str, limit_s: float = LIMIT_S) -> None:
        self.limit_s = limit_s
        self.address = redact(url)
        scheme, _, path = self.address.partition("://")
        self._folder = Path(unquote(path)).parent if scheme == "unix" else None
        # Any: redis-py types every reply as bytes or str; these clients return bytes
        self._watches: list[Sentinel] = []
        self.commands: Any = self._create_client(url, POOL_SIZE, limit_s)
        self.tail: Any = self._create_client(url, TAIL_POOL_SIZE, limit_s + TAIL_BLOCK_S)

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
        except MovedError as error:
            raise self._failure(
                purpose, "it is a node of a cluster, and the ledger needs one server"
            ) from error
        except (RedisError, OSError) as error:
            raise self._failure(purpose, str(error)) from error
        except RuntimeError as error:
            if UVLOOP_CLOSED not in str(error):
                raise
            raise self._failure(purpose, "it hung up") from error

    async def send(self, purpose: str, command: Awaitable[Any], extra_s: float = 0.0) -> Any:
        """Return the reply to one command, bounded as `call` does."""
        async with self.call(purpose, extra_s):
            return await command

    async def send_all(self, purpose: str, name: str, arguments: Iterable[Sequence[Any]]) -> list[Any]:
        """Return the replies to a command that is sent several times at once, bounded as `call` does.

        Args:
            name: The method of redis-py.
            arguments: Those of each time.
        """
        pipeline = self.commands.pipeline(transaction=False)
        for of_command in arguments:
            getattr(pipeline, name)(*of_command)
        return list(await self.send(purpose, pipeline.execute()))

    def _failure(self, purpose: str, why: str) -> LedgerUnavailable:
        return LedgerUnavailable(
            f"the ledger at {self.address} failed to {purpose}: {why.rstrip('.')}; "
            f"{self._find_full_disk() or 'try again when it answers'}"
        )

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

    def _create_client(self, url: str, n_connections: int, reply_s: float) -> Redis:
        """Return a client with RESP3 and redis-py's new shapes of replies; settings in the address win.

        A command is sent again once, and no command does harm if it is sent twice: scripts recognise a repetition, and
        the audit may list a call twice.
        """
        settings: ServerSettings = {
            "max_connections": n_connections,
            "timeout": self.limit_s,
            "socket_timeout": reply_s,
            "socket_connect_timeout": self.limit_s,
            "retry": Retry(NoBackoff(), 1),
            "protocol": 3,
            "legacy_responses": False,
            "decode_responses": False,
            "driver_info": DRIVER,
        }
        try:
            address = parse_sentinels(url)
            if address is None:
                return Redis.from_pool(BlockingConnectionPool(**(settings | dict(parse_url(url)))))
        except ValueError as error:
            raise LedgerUnavailable(f"the address of Redis cannot be read: {FORMS}") from error
        share_s = self.limit_s * SENTINEL_SHARE
        limits: ServerSettings = {
            "socket_timeout": share_s,
            "socket_connect_timeout": share_s,
            "retry": Retry(NoBackoff(), 0),
        }
        watch = Sentinel([])  # type: ignore[no-untyped-call]
        watch.sentinels = [Redis(**(limits | _as_client(sentinel))) for sentinel in address.sentinels]
        self._watches.append(watch)
        master = {
            key: value for key, value in _as_client(address.master).items() if key not in ("host", "port")
        }
        return cast(
            Redis,
            watch.master_for(address.master_name, connection_pool_class=MasterPool, **(settings | master)),
        )

    async def aclose(self) -> None:
        for client in (self.commands, self.tail, *self._watches):
            await client.aclose()


class MasterPool(SentinelConnectionPool, BlockingConnectionPool):
    """Connections to the master that Sentinels name, bounded in number; further callers wait."""


def _as_client(server: ServerSettings) -> ServerSettings:
    """Return the settings of an address as those of a client, which chooses the class of its connections itself."""
    ssl = server.get("connection_class") is SSLConnection
    return {key: value for key, value in server.items() if key != "connection_class"} | (
        {"ssl": True} if ssl else {}
    )


def is_timeout(error: LedgerUnavailable) -> bool:
    """Return whether a smaller request might end in time; otherwise the server answers none."""
    return isinstance(error.__cause__, (TimeoutError, RedisTimeout))


@dataclass(frozen=True)
class SentinelAddress:
    """Settings for connections to the master, whichever server has that role, and to each Sentinel."""

    master_name: str
    master: ServerSettings
    sentinels: tuple[ServerSettings, ...]


def parse_sentinels(url: str) -> SentinelAddress | None:
    """Parse an address of Sentinels; return None for any other.

    User, password and query are the master's, except `sentinel_username` and `sentinel_password`.
    """
    parts = urlsplit(url)
    credentials, at, hosts = parts.netloc.rpartition("@")
    nodes = hosts.split(",")
    if not parts.scheme.endswith(SENTINEL_SCHEME):
        if len(nodes) > 1:
            raise ValueError("only Sentinels are several")
        return None
    name, _, database = parts.path.strip("/").partition("/")
    if not name or not all(nodes):
        raise ValueError("the name of the master is missing, or an address")
    plain = parts._replace(scheme=parts.scheme.removesuffix(SENTINEL_SCHEME), path=f"/{database}")
    servers = [dict(parse_url(plain._replace(netloc=f"{credentials}{at}{node}").geturl())) for node in nodes]
    master = {key: value for key, value in servers[0].items() if key not in OF_SENTINELS}
    sentinels = []
    for server in servers:  # Settings of the connection apply to both; user, password and database do not.
        common = {key: value for key, value in server.items() if key not in OF_MASTER | OF_SENTINELS.keys()}
        login = {key: server[option] for option, key in OF_SENTINELS.items() if option in server}
        sentinels.append({"host": "localhost", "port": SENTINEL_PORT} | common | login)
    return SentinelAddress(unquote(name), master, tuple(sentinels))


def load_script(name: str) -> str:
    """Return an atomic step, a script with a legend of its KEYS and ARGV."""
    return (Path(__file__).parent / f"lua/{name}.lua").read_text(encoding="utf-8")


def redact(url: str) -> str:
    """Return the address without user, password and query, as a message may show it."""
    try:
        parts = urlsplit(url)
    except ValueError:  # a bracket is unclosed, so the end of the password is unknown
        return "an address that cannot be read"
    hosts = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{hosts}{parts.path}"
