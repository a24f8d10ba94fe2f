"""The keys that were issued: whose they are, what they may do and until when.

Redis layout; no other module names this key:

    {errata}:keys    hash    name -> IssuedKey as JSON; a revoked one stays, for its name stands in the ledger
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

from service.access.caller import ADMIN, NOBODY, Scope
from service.access.issued import IssuedKey, Secret, fingerprint, new_key
from service.errors import InvalidInput, KeyTaken, NotFound, NotReady
from service.ledger.connection import Connection
from service.ledger.keys import PREFIX

KEYS = PREFIX + "keys"
ATTEMPTS = 5
RESERVED = frozenset({ADMIN.name, NOBODY.name})


class Register(Protocol):
    """Every call ends within the connection's time limit, or is LedgerUnavailable."""

    async def get(self, name: str) -> IssuedKey | None: ...

    async def all(self) -> Sequence[IssuedKey]:
        """By name, the revoked ones too."""

    async def issue(
        self, name: str, scopes: Sequence[Scope], expires: float | None, by: str
    ) -> tuple[IssuedKey, str]:
        """A new key, and what its owner sends; that is told here and never again. KeyTaken."""

    async def rotate(
        self, name: str, keep_old_s: float, expires_in_s: float | None = None
    ) -> tuple[IssuedKey, str]:
        """A new secret for it. keep_old_s: how long the old one stays valid. expires_in_s: until it ends.

        NotFound. InvalidInput when it has ended and gets no new end.
        """

    async def revoke(self, name: str) -> IssuedKey:
        """It opens nothing from now on. NotFound."""

    async def restore(self, key: IssuedKey) -> bool:
        """Put back what a backup had. False when there is a key of this name: then it stays."""


class RedisRegister:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._redis = connection.commands
        self._swap = self._redis.register_script(Path(__file__).with_name("swap.lua").read_text("utf-8"))

    async def get(self, name: str) -> IssuedKey | None:
        record = await self._record(name)
        return IssuedKey.model_validate_json(record) if record else None

    async def all(self) -> Sequence[IssuedKey]:
        async with self._connection.bounded("list its keys"):
            found: dict[bytes, bytes] = await self._redis.hgetall(KEYS)
        return sorted(map(IssuedKey.model_validate_json, found.values()), key=lambda key: key.name)

    async def issue(
        self, name: str, scopes: Sequence[Scope], expires: float | None, by: str
    ) -> tuple[IssuedKey, str]:
        secret = new_key(name)
        key = IssuedKey(
            name=name,
            scopes=tuple(scopes),
            created=time.time(),
            created_by=by,
            expires=expires,
            secrets=(Secret(sha256=fingerprint(secret)),),
        )
        if name in RESERVED:
            raise KeyTaken(f"{name!r} is a name of the service's own: choose another name")
        if not await self._swapped(name, b"", key):
            raise KeyTaken(
                f"there is, or was, a key named {name!r}: choose another name; one in force can be rotated"
            )
        return key, secret

    async def rotate(
        self, name: str, keep_old_s: float, expires_in_s: float | None = None
    ) -> tuple[IssuedKey, str]:
        secret = new_key(name)

        def rotated(old: IssuedKey) -> IssuedKey:
            new = old.followed_by(secret, time.time(), keep_old_s, expires_in_s)
            if not new.in_force(time.time()):
                raise InvalidInput(
                    f"the key {name!r} has ended: say how long it lives from now on, with expires_in_s or --expires-in"
                )
            return new

        return await self._changed(name, rotated), secret

    async def revoke(self, name: str) -> IssuedKey:
        return await self._changed(name, lambda old: old.model_copy(update={"revoked": time.time()}))

    async def restore(self, key: IssuedKey) -> bool:
        there = key.name in RESERVED or await self._record(key.name) is not None
        return not there and await self._swapped(key.name, b"", key)

    async def _changed(self, name: str, change: Callable[[IssuedKey], IssuedKey]) -> IssuedKey:
        if name == ADMIN.name:
            raise NotFound(
                "the key of admin is in VAR/admin.key, ERRATA_KEY or ERRATA_KEY_FILE: it is changed there"
            )
        for _ in range(ATTEMPTS):
            record = await self._record(name)
            old = IssuedKey.model_validate_json(record) if record else None
            if record is None or old is None or old.revoked is not None:
                what = "the key named {!r} is revoked" if record else "there is no key named {!r}"
                raise NotFound(f"{what.format(name)}: `errata keys list` tells which are in force")
            new = change(old)
            if await self._swapped(name, record, new):
                return new
        raise NotReady(f"others kept changing the key {name!r}: try again")

    async def _record(self, name: str) -> bytes | None:
        async with self._connection.bounded("look a key up"):
            record: bytes | None = await self._redis.hget(KEYS, name)
        return record

    async def _swapped(self, name: str, old: bytes, new: IssuedKey) -> bool:
        arguments: list[Any] = [name, old, new.model_dump_json()]
        async with self._connection.bounded("change a key"):
            return bool(await self._swap(keys=[KEYS], args=arguments))
