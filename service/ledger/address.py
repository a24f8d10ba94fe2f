"""What an address names, one server or some nodes of a cluster, and as much of it as may stand in a message."""

from __future__ import annotations

from typing import Any, TypeAlias
from urllib.parse import urlsplit

from redis.asyncio.connection import parse_url

Server: TypeAlias = dict[str, Any]  # redis-py's settings for the connections to one server

DEFAULT_PORT = 6379
FORMS = (
    "write redis://HOST:PORT/DB, rediss://HOST:PORT/DB or unix:///PATH, or some nodes of a cluster as "
    "redis://HOST:PORT,HOST:PORT, and signs in a password as %XX ([ is %5B)"
)


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


def without_secrets(url: str) -> str:
    """The address as it may stand in a message: no user, no password, no query."""
    try:
        parts = urlsplit(url)
    except ValueError:  # a bracket without the other; where the password ends cannot be known
        return "an address that cannot be read"
    place = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{place}{parts.path}"
