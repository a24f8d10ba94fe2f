"""A register in memory, for tests of those who only read one."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Sequence

import pytest
import redis

from service.access.caller import Scope
from service.access.issued import IssuedKey, Secret, fingerprint, new_key
from service.errors import LedgerUnavailable
from service.ledger.connection import Connection
from service.ledger.embedded import EmbeddedValkey


class InMemory:
    """away: as with Redis gone. asked: how often it was read."""

    def __init__(self) -> None:
        self.keys: dict[str, IssuedKey] = {}
        self.away, self.asked = False, 0

    async def get(self, name: str) -> IssuedKey | None:
        self.asked += 1
        if self.away:
            raise LedgerUnavailable("it is away")
        return self.keys.get(name)

    async def all(self) -> Sequence[IssuedKey]:
        return list(self.keys.values())

    async def issue(
        self, name: str, scopes: Sequence[Scope], expires: float | None, by: str
    ) -> tuple[IssuedKey, str]:
        secret = new_key(name)
        kept = (Secret(sha256=fingerprint(secret)),)
        self.keys[name] = IssuedKey(
            name=name, scopes=tuple(scopes), created=time.time(), created_by=by, expires=expires, secrets=kept
        )
        return self.keys[name], secret

    async def rotate(
        self, name: str, keep_old_s: float, expires_in_s: float | None = None
    ) -> tuple[IssuedKey, str]:
        secret = new_key(name)
        self.keys[name] = self.keys[name].followed_by(secret, time.time(), keep_old_s, expires_in_s)
        return self.keys[name], secret

    async def revoke(self, name: str) -> IssuedKey:
        self.keys[name] = self.keys[name].model_copy(update={"revoked": time.time()})
        return self.keys[name]

    async def restore(self, key: IssuedKey) -> bool:
        return self.keys.setdefault(key.name, key) is key


@pytest.fixture
async def connection(valkey: EmbeddedValkey, raw: redis.Redis) -> AsyncIterator[Connection]:
    """To an empty server."""
    connection = Connection(valkey.url, 2.0)
    yield connection
    await connection.aclose()


@pytest.fixture
async def nowhere() -> AsyncIterator[Connection]:
    """To a server that is gone."""
    connection = Connection("unix:///nowhere/at/all", 0.5)
    yield connection
    await connection.aclose()


@pytest.fixture
def register() -> InMemory:
    return InMemory()
