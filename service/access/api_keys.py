"""API keys: how they are generated and checked, and the store of those that were issued.

A secret has 256 random bits, so its SHA-256 can be stored without a salt: it cannot be guessed. The secret itself is
stored nowhere.

Redis layout; no other module names this key:

    {errata}:keys    hash    name -> ApiKey as JSON; a revoked one stays, for its name stands in the ledger
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, cast

from pydantic import BaseModel, Field

from service.access.caller import ADMIN, Caller, Scope
from service.access.caller_names import find_fault
from service.errors import InvalidInput, KeyTaken, NotFound, NotReady
from service.ledger.connection import Connection
from service.ledger.keys import PREFIX

KEYS = PREFIX + "keys"
KEY_PREFIX = "errata"
SECRET_BYTES = 32
MAX_NAME_CHARS = 64  # characters of a name; a longer one need not be looked up
ATTEMPTS = 5


def fingerprint(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()


def generate_key(name: str) -> str:
    """Generate a key. The name is part of it, so that a leaked key shows its owner."""
    return f"{KEY_PREFIX}_{name}_{secrets.token_urlsafe(SECRET_BYTES)}"


def parse_name(key: str) -> str | None:
    """Return the name in a key; None for a key that was not generated here."""
    prefix, _, rest = key.partition("_")
    name, underscore, _ = rest.partition("_")
    return name if prefix == KEY_PREFIX and underscore and 0 < len(name) <= MAX_NAME_CHARS else None


class Secret(BaseModel, frozen=True):
    """A secret's digest. `until`: Unix time in seconds at which it ends; None for the end of the key."""

    sha256: str
    until: float | None = None

    def accepts(self, key: str, now: float) -> bool:
        return hmac.compare_digest(fingerprint(key), self.sha256) and (self.until is None or now < self.until)


class ApiKey(BaseModel, frozen=True):
    """The record of an issued key. Times are unix times in seconds.

    Attributes:
        expires: End of the key, whatever its secrets; None for never.
        secrets: Its secrets, the newest first; an older one is accepted until it ends.
    """

    name: str
    scopes: Annotated[tuple[Scope, ...], Field(min_length=1)]
    created: float
    created_by: str
    expires: float | None = None
    rotated: float | None = None
    revoked: float | None = None
    secrets: tuple[Secret, ...]

    def accepts(self, key: str, now: float) -> bool:
        return self.is_active(now) and any(secret.accepts(key, now) for secret in self.secrets)

    def is_active(self, now: float) -> bool:
        return self.revoked is None and (self.expires is None or now < self.expires)

    @property
    def caller(self) -> Caller:
        return Caller(self.name, self.scopes)

    def without_secrets(self) -> ApiKey:
        return self.model_copy(update={"secrets": ()})

    def rotate(self, key: str, now: float, keep_old_s: float, expires_in_s: float | None = None) -> ApiKey:
        """Return a copy with a new secret.

        Args:
            keep_old_s: Seconds for which the old secrets are accepted, though none beyond its end.
            expires_in_s: Seconds until the key's new end; None leaves its end as it is.
        """
        old_end = now + keep_old_s
        ends = [old_end if secret.until is None else min(old_end, secret.until) for secret in self.secrets]
        old = [
            secret.model_copy(update={"until": end})
            for secret, end in zip(self.secrets, ends, strict=True)
            if end > now
        ]
        expires = self.expires if expires_in_s is None else now + expires_in_s
        new = Secret(sha256=fingerprint(key))
        return self.model_copy(update={"secrets": (new, *old), "rotated": now, "expires": expires})


class KeyStore:
    """Issued keys in Redis. Every call ends within the connection's time limit, or raises LedgerUnavailable."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._redis = connection.commands
        self._swap = self._redis.register_script(Path(__file__).with_name("swap.lua").read_text("utf-8"))

    async def get(self, name: str) -> ApiKey | None:
        record = await self._read(name)
        return ApiKey.model_validate_json(record) if record else None

    async def all(self) -> Sequence[ApiKey]:
        records = await self._connection.send("list its keys", self._redis.hgetall(KEYS))
        return sorted(map(ApiKey.model_validate_json, records.values()), key=lambda key: key.name)

    async def issue(
        self, name: str, scopes: Sequence[Scope], expires: float | None, created_by: str
    ) -> tuple[ApiKey, str]:
        """Generate a key, and return its record and the key itself, which cannot be read again."""
        secret = generate_key(name)
        key = ApiKey(
            name=name,
            scopes=tuple(scopes),
            created=time.time(),
            created_by=created_by,
            expires=expires,
            secrets=(Secret(sha256=fingerprint(secret)),),
        )
        if fault := find_fault(name):
            raise KeyTaken(f"{name!r} {fault}: choose another name")
        if not await self.swap(name, b"", key):
            raise KeyTaken(
                f"there is, or was, a key named {name!r}: choose another name, or rotate the key if it is valid"
            )
        return key, secret

    async def rotate(
        self, name: str, keep_old_s: float, expires_in_s: float | None = None
    ) -> tuple[ApiKey, str]:
        """Give a key a new secret, and return its record and the new key. See ApiKey.rotate."""
        secret = generate_key(name)

        def rotate(old: ApiKey) -> ApiKey:
            new = old.rotate(secret, time.time(), keep_old_s, expires_in_s)
            if not new.is_active(time.time()):
                raise InvalidInput(
                    f"the key {name!r} has ended: say how long it lives from now on, with expires_in_s or --expires-in"
                )
            return new

        return await self._change(name, rotate), secret

    async def revoke(self, name: str) -> ApiKey:
        """End a key for good; raise NotFound if there is no valid key of this name."""
        return await self._change(name, lambda old: old.model_copy(update={"revoked": time.time()}))

    async def restore(self, key: ApiKey) -> bool:
        """Put back a key from a backup, or return False if a key has this name or the name is not allowed."""
        if find_fault(key.name) or await self._read(key.name) is not None:
            return False
        return await self.swap(key.name, b"", key)

    async def _change(self, name: str, change: Callable[[ApiKey], ApiKey]) -> ApiKey:
        if name == ADMIN.name:
            raise NotFound(
                "the key of admin is in VAR/admin.key, ERRATA_ADMIN_KEY or ERRATA_ADMIN_KEY_FILE: "
                "it is changed there"
            )
        for _ in range(ATTEMPTS):
            record = await self._read(name)
            old = ApiKey.model_validate_json(record) if record else None
            if record is None or old is None or old.revoked is not None:
                reason = "the key named {!r} is revoked" if record else "there is no key named {!r}"
                raise NotFound(f"{reason.format(name)}: `errata keys list` lists the valid ones")
            new = change(old)
            if await self.swap(name, record, new):
                return new
        raise NotReady(f"others kept changing the key {name!r}: try again")

    async def _read(self, name: str) -> bytes | None:
        return cast(bytes | None, await self._connection.send("look a key up", self._redis.hget(KEYS, name)))

    async def swap(self, name: str, old: bytes, new: ApiKey) -> bool:
        """Store the new record if the current one is `old` (b"" for none); idempotent. See swap.lua."""
        return bool(
            await self._connection.send(
                "change a key", self._swap(keys=[KEYS], args=[name, old, new.model_dump_json()])
            )
        )
