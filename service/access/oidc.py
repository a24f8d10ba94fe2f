"""Callers of an OpenID Connect issuer: its signed tokens stand for keys.

RFC 7519 (JWT), RFC 7517 (JWKS) and OpenID Connect Discovery 1.0. PyJWT checks signature, issuer, audience and times;
this module fetches the issuer's public keys, and maps claims to names and scopes.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import httpx
import jwt

from service.access.caller import ALL_SCOPES, Caller, Scope, find_fault
from service.concurrency import Refreshing
from service.errors import NotReady, Unauthorized

# Signatures that only the issuer can make; never `none`, nor a secret that both sides share.
ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
LEEWAY_S = 30.0  # tolerated difference between the issuer's clock and ours
NAME_PREFIX = "oidc:"  # prefix of an issuer's names, so that none equals the name of a key

MAX_AGE_S = 300.0  # age at which keys are fetched again, so that a withdrawn key is not accepted for ever
MIN_PAUSE_S = 5.0  # pause between two fetches, so that forged tokens do not become requests to the issuer
TIMEOUT_S = 5.0
MAX_JSON_BYTES = 1_000_000  # Bytes of a page of the issuer
STALE_WAIT_S = 1.0  # wait for a refresh, if the key is in the cache
DISCOVERY = "/.well-known/openid-configuration"

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Claims:
    issuer: str
    audience: str
    # The claim with the scopes, a list or words in one text; those that begin with `prefix` are ours
    scopes: str
    prefix: str
    name: str  # the claim with the author's name

    def read_scopes(self, claims: Mapping[str, Any]) -> tuple[Scope, ...]:
        """Return the scopes; raise Unauthorized if the claim has another type."""
        value = claims.get(self.scopes, [])
        words = value.split() if isinstance(value, str) else value
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise Unauthorized(f"the token's claim {self.scopes!r} is neither words nor a list of them")
        names = {word.removeprefix(self.prefix) for word in words if word.startswith(self.prefix)}
        return tuple(scope for scope in ALL_SCOPES if scope in names)

    def read_name(self, claims: Mapping[str, Any]) -> str:
        """Return the name; raise Unauthorized without an allowed one, since a commit needs an author."""
        name = claims.get(self.name)
        if not isinstance(name, str) or not name.strip():
            raise Unauthorized(f"the token has no claim {self.name!r}, which names its owner")
        author = NAME_PREFIX + name.strip()
        if fault := find_fault(author):
            raise Unauthorized(f"the token's claim {self.name!r}, which names its owner, {fault}")
        return author


class OidcVerifier:
    def __init__(self, claims: Claims, jwks: Jwks) -> None:
        self._claims, self._jwks = claims, jwks

    async def verify(self, token: str) -> Caller:
        """Return the caller that a token names; raise NotReady where the issuer's keys cannot be fetched."""
        try:
            kid = jwt.get_unverified_header(token).get("kid")
            claims = jwt.decode(
                token,
                await self._jwks.get(kid),
                algorithms=ALGORITHMS,
                audience=self._claims.audience,
                issuer=self._claims.issuer,
                leeway=LEEWAY_S,
                options={"require": ["exp", "iss", "aud"]},
            )
        except jwt.PyJWTError as error:
            raise Unauthorized(f"the token is not good here: {error}") from error
        return Caller(self._claims.read_name(claims), self._claims.read_scopes(claims), "token")


class Jwks:
    """The issuer's public keys, cached; while the issuer is away, cached keys are accepted.

    Args:
        host: Host of its keys, with an unusual port; None for the issuer's own host.
    """

    def __init__(
        self, issuer: str, host: str | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._issuer, self._host = issuer.rstrip("/"), host
        self._keys = Refreshing(self._fetch, MIN_PAUSE_S, clock)

    async def get(self, kid: str | None) -> jwt.PyJWK:
        """Return a key by its id; None for the only one."""
        if kid not in (self._keys.value or {}):
            await self._keys.refresh(TIMEOUT_S)
        elif self._keys.age_s > MAX_AGE_S:
            await self._keys.refresh(STALE_WAIT_S)
        if self._keys.value is None:
            raise NotReady(f"the issuer of tokens, {self._issuer}, cannot be reached: try again in a moment")
        if kid not in self._keys.value:
            raise Unauthorized(
                f"the token is signed with a key that {self._issuer} does not have (kid {kid!r})"
            )
        return self._keys.value[kid]

    async def _fetch(self) -> Mapping[str | None, jwt.PyJWK]:
        try:
            async with asyncio.timeout(TIMEOUT_S):
                return await fetch_keys(self._issuer, self._host)
        except Exception as error:  # the issuer may send anything
            log.warning("the keys of %s cannot be read: %s: %s", self._issuer, type(error).__name__, error)
            raise


async def fetch_keys(issuer: str, host: str | None) -> Mapping[str | None, jwt.PyJWK]:
    """Return the issuer's signing keys by id, and under None if there is only one."""
    async with httpx.AsyncClient(timeout=TIMEOUT_S) as client:
        about = await get_json(client, issuer + DISCOVERY)
        if about["issuer"].rstrip("/") != issuer:
            raise ValueError(f"it says that it is {about['issuer']}")
        address = httpx.URL(about["jwks_uri"])
        check_jwks_address(address, httpx.URL(issuer), host)
        jwks = jwt.PyJWKSet.from_dict(await get_json(client, str(address)))
    keys: dict[str | None, jwt.PyJWK] = {
        key.key_id: key for key in jwks.keys if key.public_key_use in (None, "sig")
    }
    return {**keys, None: next(iter(keys.values()))} if len(keys) == 1 else keys


def check_jwks_address(address: httpx.URL, issuer: httpx.URL, host: str | None) -> None:
    """Raise ValueError for an address that the issuer may not send us to: it may be in our own network."""
    if address.scheme != issuer.scheme:
        raise ValueError(f"its keys are at {address}, which is not as safe as it is itself")
    if address.userinfo or address.query or address.fragment:
        raise ValueError(f"its keys are at {address}: a user, a query or a fragment has no place there")
    expected, actual = host or issuer.netloc.decode(), address.netloc.decode()
    if actual != expected:
        raise ValueError(f"its keys are at {actual} and not at {expected}: name it in --oidc-jwks-host")


async def get_json(client: httpx.AsyncClient, url: str) -> dict[str, Any]:
    data = bytearray()
    async with client.stream("GET", url) as response:
        response.raise_for_status()
        async for chunk in response.aiter_bytes():
            data += chunk
            if len(data) > MAX_JSON_BYTES:
                raise ValueError(f"{url} has more than {MAX_JSON_BYTES:,} bytes")
    content: dict[str, Any] = json.loads(data)
    return content
