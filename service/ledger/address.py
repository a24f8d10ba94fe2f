"""What an address names: one server, some nodes of a cluster, or a master by those who watch it.

And as much of an address as may stand in a message.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias
from urllib.parse import unquote, urlsplit

from redis.asyncio.connection import parse_url

Server: TypeAlias = dict[str, Any]  # redis-py's settings for the connections to one server

DEFAULT_PORT = 6379
SENTINEL_PORT = 26379
WATCHED = "+sentinel"
OF_MASTER = {"username", "password", "db"}
OF_SENTINELS = {"sentinel_username": "username", "sentinel_password": "password"}
FORMS = (
    "write redis://HOST:PORT/DB, rediss://HOST:PORT/DB or unix:///PATH, or some nodes of a cluster as "
    "redis://HOST:PORT,HOST:PORT, or the Sentinels of the master NAME as redis+sentinel://HOST:PORT,HOST:PORT/NAME/DB, "
    "and signs in a password as %XX ([ is %5B)"
)


@dataclass(frozen=True)
class Watched:
    """server: how to connect to the master `name`, wherever it is. sentinels: who knows where, and how to ask them."""

    name: str
    server: Server
    sentinels: tuple[Server, ...]


def servers(url: str) -> list[Server]:
    """One for each node that is named; user, password and query are those of all. ValueError for anything else."""
    return [dict(parse_url(one)) for one in _each(url)]


def _each(url: str) -> list[str]:
    parts = urlsplit(url)
    credentials, at, place = parts.netloc.rpartition("@")
    if "," not in place:
        return [url]
    nodes = place.split(",")
    if not all(nodes) or "//" in parts.path:
        raise ValueError("a list of nodes is written as redis://HOST:PORT,HOST:PORT")
    return [parts._replace(netloc=f"{credentials}{at}{node}").geturl() for node in nodes]


def watched(url: str) -> Watched | None:
    """None for an address without Sentinels. ValueError for one that does not name the master.

    User, password and query are the master's, but for `sentinel_username` and `sentinel_password`.
    """
    parts = urlsplit(url)
    if not parts.scheme.endswith(WATCHED):
        return None
    name, _, database = parts.path.strip("/").partition("/")
    if not name:
        raise ValueError("the name of the master is missing")
    plain = parts._replace(scheme=parts.scheme.removesuffix(WATCHED), path=f"/{database}")
    found = servers(plain.geturl())
    master = {key: value for key, value in found[0].items() if key not in OF_SENTINELS}
    return Watched(unquote(name), master, tuple(map(_sentinel, found)))


def _sentinel(server: Server) -> Server:
    """Settings of the connection hold for both; who asks, and which database, are matters of the master."""
    common = {name: value for name, value in server.items() if name not in OF_MASTER | OF_SENTINELS.keys()}
    own = {its: server[name] for name, its in OF_SENTINELS.items() if name in server}
    return {"host": "localhost", "port": SENTINEL_PORT} | common | own


def without_secrets(url: str) -> str:
    """The address as it may stand in a message: no user, no password, no query."""
    try:
        parts = urlsplit(url)
    except ValueError:  # a bracket without the other; where the password ends cannot be known
        return "an address that cannot be read"
    place = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{place}{parts.path}"
