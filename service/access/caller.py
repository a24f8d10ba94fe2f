"""The caller of a request, and its rights."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from ipaddress import IPv6Network, ip_address
from typing import Literal, TypeAlias

from service.errors import Forbidden

Scope: TypeAlias = Literal["ask", "read", "propose", "edit", "admin"]
Method: TypeAlias = Literal["admin", "key", "token", "nobody"]

ALL_SCOPES: tuple[Scope, ...] = ("ask", "read", "propose", "edit", "admin")


@dataclass(frozen=True)
class Caller:
    name: str  # author of the caller's commits in the ledger
    scopes: tuple[Scope, ...]  # Rights of the caller. Scopes are not nested.
    by: Method = "key"  # how the caller was recognised

    def check(self, scope: Scope) -> None:
        if scope not in self.scopes:
            raise Forbidden(f"{self.name!r} lacks the scope {scope!r}: use a key that has it", scope=scope)

    def allow(self, scope: Scope) -> Caller:
        """Return the same caller with a scope that every caller has."""
        return self if scope in self.scopes else replace(self, scopes=(*self.scopes, scope))


@lru_cache(10_000)
def source_of(address: str) -> str:
    """Return the network that an address's limits count: for IPv6 its /64, in which one host may take any address."""
    try:
        ip = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    ip = getattr(ip, "ipv4_mapped", None) or ip
    return str(ip if ip.version == 4 else IPv6Network((ip, 64), strict=False))


ADMIN = Caller("admin", ALL_SCOPES, "admin")
ANONYMOUS = Caller("nobody", ("ask",), "nobody")  # The caller where asking needs no key
