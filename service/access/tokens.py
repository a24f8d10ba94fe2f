"""Callers that an OpenID Connect issuer vouches for: its signed tokens stand for keys.

RFC 7519 (JWT) and OpenID Connect Discovery 1.0. PyJWT checks signature, issuer, audience and times; here is where
the issuer's public keys come from, and what a claim means in Errata.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jwt

from service.access.caller import EVERYTHING, Caller, Scope
from service.access.issuer_keys import IssuerKeys
from service.errors import Unauthorized

# Signatures that only the issuer can make; never `none`, nor a secret that both sides share.
ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
SKEW_S = 30.0  # between the issuer's clock and ours
FROM = "oidc:"  # so that nobody whom the issuer names can pass for the owner of a key


@dataclass(frozen=True)
class Claims:
    """Which claim says what. scopes: a list, or words in one text; those that begin with `prefix` are ours."""

    issuer: str
    audience: str
    scopes: str
    prefix: str
    name: str

    def scopes_of(self, claims: Mapping[str, Any]) -> tuple[Scope, ...]:
        """Unauthorized when the claim is of another kind."""
        said = claims.get(self.scopes, [])
        words = said.split() if isinstance(said, str) else said
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise Unauthorized(f"the token's claim {self.scopes!r} is neither words nor a list of them")
        ours = {word.removeprefix(self.prefix) for word in words if word.startswith(self.prefix)}
        return tuple(scope for scope in EVERYTHING if scope in ours)

    def name_of(self, claims: Mapping[str, Any]) -> str:
        """Unauthorized without one: a commit needs an author."""
        name = claims.get(self.name)
        if not isinstance(name, str) or not name.strip():
            raise Unauthorized(f"the token has no claim {self.name!r}, which names its owner")
        return FROM + name.strip()


class OidcTokens:
    def __init__(self, claims: Claims, keys: IssuerKeys) -> None:
        self._claims, self._keys = claims, keys

    async def caller(self, token: str) -> Caller:
        """Unauthorized says what is wrong with the token; NotReady when the issuer's keys cannot be had."""
        try:
            kid = jwt.get_unverified_header(token).get("kid")
            claims = self._checked(token, await self._keys.get(kid))
        except jwt.PyJWTError as error:
            raise Unauthorized(f"the token is not good here: {error}") from error
        return Caller(self._claims.name_of(claims), self._claims.scopes_of(claims), "token")

    def _checked(self, token: str, key: jwt.PyJWK) -> dict[str, Any]:
        return jwt.decode(
            token,
            key,
            algorithms=ALGORITHMS,
            audience=self._claims.audience,
            issuer=self._claims.issuer,
            leeway=SKEW_S,
            options={"require": ["exp", "iss", "aud"]},
        )
