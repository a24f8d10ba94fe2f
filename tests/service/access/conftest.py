"""Connections to a real server, and a key store in memory that can be taken away."""

import time
from collections.abc import AsyncIterator

import pytest

from service.access.api_keys import ApiKey, Secret, fingerprint, generate_key
from service.access.caller import Scope
from service.errors import LedgerUnavailable
from service.ledger.connection import Connection


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


class MemoryStore:
    """A key store in memory. away: behave as with Redis gone. reads: number of reads."""

    def __init__(self) -> None:
        self.keys: dict[str, ApiKey] = {}
        self.away, self.reads = False, 0

    async def get(self, name: str) -> ApiKey | None:
        self.reads += 1
        if self.away:
            raise LedgerUnavailable("it is away")
        return self.keys.get(name)

    def issue(self, name: str, *scopes: Scope) -> str:
        key = generate_key(name)
        self.keys[name] = api_key(key, name, *scopes)
        return key


def api_key(key: str, name: str = "anna", *scopes: Scope, expires: float | None = None) -> ApiKey:
    secrets = (Secret(sha256=fingerprint(key)),)
    return ApiKey(
        name=name,
        scopes=scopes or ("ask",),
        created=time.time(),
        created_by="admin",
        expires=expires,
        secrets=secrets,
    )


@pytest.fixture
async def nowhere() -> AsyncIterator[Connection]:
    """Return a connection to a server that is gone."""
    connection = Connection("unix:///nowhere/at/all", 0.5)
    yield connection
    await connection.aclose()


@pytest.fixture
def memory_store() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
def clock() -> Clock:
    return Clock()
