"""The public keys of an OpenID Connect issuer: read when needed, kept, and read again when one is new.

A token with a key that nobody knows makes us ask, but not more often than every few seconds, so that forged tokens
do not turn into requests to the issuer.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from typing import Any

import httpx
import jwt

from service.errors import NotReady, Unauthorized

KEPT_S = 300.0  # then they are read again, so that a key that was withdrawn is not believed for ever
PAUSE_S = 5.0  # between two readings
LIMIT_S = 5.0
PATIENCE_S = 1.0  # of those whose key is known, when it is time to read them again
DISCOVERY = "/.well-known/openid-configuration"

log = logging.getLogger(__name__)


class IssuerKeys:
    """issuer: its address. With the issuer gone, keys that were read go on."""

    def __init__(self, issuer: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._issuer, self._clock = issuer.rstrip("/"), clock
        self._keys: Mapping[str | None, jwt.PyJWK] = {}
        self._read = self._tried = float("-inf")
        self._reading: asyncio.Task[None] | None = None

    async def get(self, kid: str | None) -> jwt.PyJWK:
        """Unauthorized for a key that the issuer does not have; NotReady when it cannot be asked."""
        if kid not in self._keys:
            await self._refreshed(LIMIT_S)
        elif self._clock() - self._read > KEPT_S:
            await self._refreshed(PATIENCE_S)
        if kid in self._keys:
            return self._keys[kid]
        if self._read == float("-inf"):
            raise NotReady(f"the issuer of tokens, {self._issuer}, cannot be reached: try again in a moment")
        raise Unauthorized(f"the token is signed with a key that {self._issuer} does not have (kid {kid!r})")

    async def _refreshed(self, patience_s: float) -> None:
        """One reading for all who wait for it; none when the last ended a moment ago."""
        if self._reading is None:
            if self._clock() - self._tried < PAUSE_S:
                return
            self._reading = asyncio.create_task(self._refresh())
        await asyncio.wait([self._reading], timeout=patience_s)

    async def _refresh(self) -> None:
        try:
            async with asyncio.timeout(LIMIT_S):
                self._keys = await self._fetched()
            self._read = self._clock()
        except Exception as error:  # whatever it sends
            log.warning("the keys of %s cannot be read: %s: %s", self._issuer, type(error).__name__, error)
        finally:
            self._tried, self._reading = self._clock(), None

    async def _fetched(self) -> Mapping[str | None, jwt.PyJWK]:
        async with httpx.AsyncClient(timeout=LIMIT_S) as client:
            about = await _json(client, self._issuer + DISCOVERY)
            if about["issuer"].rstrip("/") != self._issuer:
                raise ValueError(f"it says that it is {about['issuer']}")
            where = httpx.URL(about["jwks_uri"])
            if where.scheme != httpx.URL(self._issuer).scheme:
                raise ValueError(f"its keys are at {where}, which is not as safe as it is itself")
            found = jwt.PyJWKSet.from_dict(await _json(client, str(where)))
        keys = {key.key_id: key for key in found.keys if key.public_key_use in (None, "sig")}
        return {**keys, None: next(iter(keys.values()))} if len(keys) == 1 else keys


async def _json(client: httpx.AsyncClient, url: str) -> dict[str, Any]:
    response = await client.get(url)
    response.raise_for_status()
    content: dict[str, Any] = response.json()
    return content
