"""Callers of an OpenID Connect issuer: its signed tokens stand for keys.

RFC 7519 (JWT), RFC 7517 (JWKS) and OpenID Connect Discovery 1.0. PyJWT checks signature, issuer, audience and times;
this module fetches the issuer's public keys, and maps claims to names and scopes.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

import httpx
import jwt

from service.access.caller import ALL_SCOPES, Caller, Scope
from service.access.caller_names import find_fault
from service.errors import NotReady, Unauthorized
from service.refreshing import Refreshing

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

Keys: TypeAlias = Mapping[tuple[str | None, str], jwt.PyJWK]
"""Id and algorithm -> the key; the id None is for the only key that fits the algorithm."""

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
            header = jwt.get_unverified_header(token)
            algorithm = header["alg"]
            if algorithm not in ALGORITHMS:
                raise Unauthorized(
                    f"the token is signed by {algorithm!r}: {', '.join(ALGORITHMS)} are taken here"
                )
            claims = jwt.decode(
                token,
                await self._jwks.get(header.get("kid"), algorithm),
                algorithms=[algorithm],
                audience=self._claims.audience,
                issuer=self._claims.issuer,
                leeway=LEEWAY_S,
                options={"require": ["exp", "iss", "aud"]},
            )
        except jwt.InvalidIssuerError as error:
            raise Unauthorized(self.describe_issuer(token)) from error
        except jwt.PyJWTError as error:
            raise Unauthorized(f"the token is not good here: {error}") from error
        return Caller(self._claims.read_name(claims), self._claims.read_scopes(claims), "token")

    def describe_issuer(self, token: str) -> str:
        """Say how the issuer of a token, whose signature is good, differs from the one that is taken here."""
        actual, expected = jwt.decode(token, options={"verify_signature": False})["iss"], self._claims.issuer
        is_slash = str(actual).rstrip("/") == expected.rstrip("/")
        hint = ": they differ in the slash at the end, so set --oidc-issuer to the first" if is_slash else ""
        return f"the token is not good here: its issuer is {actual!r}, and {expected!r} is taken{hint}"


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

    async def get(self, kid: str | None, algorithm: str) -> jwt.PyJWK:
        """Return a key by its id and the algorithm of a token; the id None is for the only one that fits."""
        if (kid, algorithm) not in (self._keys.value or {}):
            await self._keys.refresh(TIMEOUT_S)
        elif self._keys.age_s > MAX_AGE_S:
            await self._keys.refresh(STALE_WAIT_S)
        if self._keys.value is None:
            is_away = isinstance(self._keys.error, httpx.HTTPError | TimeoutError | None)
            why = "cannot be reached" if is_away else f"has no keys that can be read ({self._keys.error})"
            raise NotReady(f"the issuer of tokens, {self._issuer}, {why}: try again in a moment")
        if (kid, algorithm) not in self._keys.value:
            raise Unauthorized(
                f"the token is signed with a key that {self._issuer} does not have (kid {kid!r}, {algorithm})"
            )
        return self._keys.value[kid, algorithm]

    async def _fetch(self) -> Keys:
        try:
            async with asyncio.timeout(TIMEOUT_S):
                return await fetch_keys(self._issuer, self._host)
        except Exception as error:  # the issuer may send anything
            log.warning("the keys of %s cannot be read: %s: %s", self._issuer, type(error).__name__, error)
            raise


async def fetch_keys(issuer: str, host: str | None) -> Keys:
    """Return the issuer's signing keys, each under its id with every algorithm that it fits."""
    async with httpx.AsyncClient(timeout=TIMEOUT_S) as client:
        about = await get_json(client, issuer + DISCOVERY)
        if about["issuer"].rstrip("/") != issuer:
            raise ValueError(f"it says that it is {about['issuer']}")
        address = httpx.URL(about["jwks_uri"])
        check_jwks_address(address, httpx.URL(issuer), host)
        return read_keys((await get_json(client, str(address)))["keys"])


def read_keys(jwks: Sequence[Mapping[str, Any]]) -> Keys:
    """Return the keys of a set that may check signatures, each under its id with every algorithm that it fits.

    `use`, `key_ops`, `alg` and `kid` are optional (RFC 7517, 4.2 to 4.5); a key without `alg` fits all of its type.
    """
    keys: dict[tuple[str | None, str], jwt.PyJWK] = {}
    by_algorithm: dict[str, list[jwt.PyJWK]] = defaultdict(list)
    for jwk in jwks:
        if jwk.get("use") in (None, "sig") and "verify" in jwk.get("key_ops", ["verify"]):
            for algorithm in ALGORITHMS:
                if jwk.get("alg") in (None, algorithm):
                    with suppress(jwt.PyJWTError, ValueError, KeyError, TypeError):  # it is of another type
                        keys[jwk.get("kid"), algorithm] = key = jwt.PyJWK(dict(jwk), algorithm)
                        by_algorithm[algorithm].append(key)
    return {(None, name): fitting[0] for name, fitting in by_algorithm.items() if len(fitting) == 1} | keys


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
    return cast(dict[str, Any], json.loads(data))
