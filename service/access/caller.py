"""Who is calling, and what that caller may do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from service.errors import Forbidden

Scope: TypeAlias = Literal["ask", "read", "edit", "admin"]
By: TypeAlias = Literal["admin", "key", "token", "nobody"]

EVERYTHING: tuple[Scope, ...] = ("ask", "read", "edit", "admin")


@dataclass(frozen=True)
class Caller:
    """name: what the ledger notes as the author of a commit. by: how the caller was recognised."""

    name: str
    scopes: tuple[Scope, ...]
    by: By = "key"

    def check(self, scope: Scope) -> None:
        if scope not in self.scopes:
            raise Forbidden(f"{self.name!r} lacks the scope {scope!r}: use a key that has it", scope=scope)


ADMIN = Caller("admin", EVERYTHING, "admin")
NOBODY = Caller("nobody", ("ask",), "nobody")
"""Whoever asks where asking needs no key."""
