"""Addresses of Redis: one server, some nodes of a cluster, or a master watched by Sentinels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias
from urllib.parse import unquote, urlsplit

from redis.asyncio.connection import parse_url

ServerSettings: TypeAlias = dict[str, Any]  # redis-py's settings for the connections to one server

DEFAULT_PORT = 6379
SENTINEL_PORT = 26379
SENTINEL_SCHEME = "+sentinel"
OF_MASTER = {"username", "password", "db"}
OF_SENTINELS = {"sentinel_username": "username", "sentinel_password": "password"}
FORMS = (
    "write redis://HOST:PORT/DB, rediss://HOST:PORT/DB or unix:///PATH, or some nodes of a cluster as "
    "redis://HOST:PORT,HOST:PORT, or the Sentinels of the master NAME as redis+sentinel://HOST:PORT,HOST:PORT/NAME/DB, "
    "and signs in a password as %XX ([ is %5B)"
)


@dataclass(frozen=True)
class SentinelAddress:
    """Settings for connections to the master, whichever server has that role, and to each Sentinel."""

    master_name: str
    master: ServerSettings
    sentinels: tuple[ServerSettings, ...]


def parse_servers(url: str) -> list[ServerSettings]:
    """Parse the settings of each server that the address names; user, password and query hold for all.

    Raises:
        ValueError: The address has another form.
    """
    parts = urlsplit(url)
    credentials, at, hosts = parts.netloc.rpartition("@")
    if "," not in hosts:
        return [dict(parse_url(url))]
    nodes = hosts.split(",")
    if not all(nodes) or "//" in parts.path:
        raise ValueError("a list of nodes is written as redis://HOST:PORT,HOST:PORT")
    return [dict(parse_url(parts._replace(netloc=f"{credentials}{at}{node}").geturl())) for node in nodes]


def parse_sentinels(url: str) -> SentinelAddress | None:
    """Parse an address of Sentinels; return None for any other.

    User, password and query are the master's, except `sentinel_username` and `sentinel_password`.

    Raises:
        ValueError: The address does not name the master.
    """
    parts = urlsplit(url)
    if not parts.scheme.endswith(SENTINEL_SCHEME):
        return None
    name, _, database = parts.path.strip("/").partition("/")
    if not name:
        raise ValueError("the name of the master is missing")
    plain = parts._replace(scheme=parts.scheme.removesuffix(SENTINEL_SCHEME), path=f"/{database}")
    servers = parse_servers(plain.geturl())
    master = {key: value for key, value in servers[0].items() if key not in OF_SENTINELS}
    sentinels = []
    for server in servers:  # Settings of the connection apply to both; user, password and database do not.
        common = {key: value for key, value in server.items() if key not in OF_MASTER | OF_SENTINELS.keys()}
        credentials = {key: server[option] for option, key in OF_SENTINELS.items() if option in server}
        sentinels.append({"host": "localhost", "port": SENTINEL_PORT} | common | credentials)
    return SentinelAddress(unquote(name), master, tuple(sentinels))


def redact(url: str) -> str:
    """Return the address without user, password and query, as a message may show it."""
    try:
        parts = urlsplit(url)
    except ValueError:  # a bracket is unclosed, so the end of the password is unknown
        return "an address that cannot be read"
    hosts = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{hosts}{parts.path}"
