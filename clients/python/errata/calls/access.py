"""Calls about keys and the audit."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TypedDict
from urllib.parse import quote

from errata import wire
from errata.request import Call, build, to_query
from errata.wire import KeyName, Request, Scope

DAY_S = 86_400.0


class _KeyPath(Request):
    name: KeyName


class AuditFilters(TypedDict, total=False):
    """Filters of the audit's list."""

    name: str | None
    path: str | None
    refused: bool | None
    version: int | None
    since: datetime | None
    until: datetime | None


class AccessCalls:
    """The part of `Calls` about keys and the audit; all except `whoami` needs the scope admin."""

    def whoami(self) -> Call[wire.Whoami]:
        """Return the name and the scopes of the key that this client sends."""
        return Call("GET", "/admin/keys/self", wire.Whoami)

    def keys(self) -> Call[wire.KeyList]:
        """List every key that was issued, without secrets, which are stored nowhere."""
        return Call("GET", "/admin/keys", wire.KeyList)

    def make_key(
        self, name: str, scopes: Sequence[Scope], *, expires_in_s: float | None = None
    ) -> Call[wire.NewKey]:
        """Make a key, which only this response shows. It ends after `expires_in_s` seconds; None is for no end."""
        body = build(wire.KeyRequest, name=name, scopes=list(scopes), expires_in_s=expires_in_s)
        return Call("POST", "/admin/keys", wire.NewKey, body, reads=False)

    def rotate_key(
        self, name: str, *, keep_old_s: float = DAY_S, expires_in_s: float | None = None
    ) -> Call[wire.NewKey]:
        """Give the key a new secret; the old one stays valid for `keep_old_s`. `expires_in_s` moves the key's end."""
        body = build(wire.RotateRequest, keep_old_s=keep_old_s, expires_in_s=expires_in_s)
        return Call("POST", f"{_key_path(name)}/rotations", wire.NewKey, body, reads=False)

    def revoke_key(self, name: str) -> Call[wire.KeyState]:
        """Revoke a key; within a second it is refused."""
        return Call("DELETE", _key_path(name), wire.KeyState, reads=False)

    def audit(
        self,
        *,
        limit: int = 50,
        before: str | None = None,
        name: str | None = None,
        path: str | None = None,
        refused: bool | None = None,
        version: int | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> Call[wire.AuditPage]:
        """List calls of the admin routes, the newest first; `before` is the `next` of the preceding page."""
        query = to_query(
            limit=limit,
            before=before,
            name=name,
            path=path,
            refused=refused,
            version=version,
            since=since and str(since.timestamp()),
            until=until and str(until.timestamp()),
        )
        return Call("GET", "/admin/audit", wire.AuditPage, query=query)


def _key_path(name: str) -> str:
    return f"/admin/keys/{quote(build(_KeyPath, name=name).name, safe='')}"
