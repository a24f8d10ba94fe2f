"""Keys and the audit: who may do what, and who did."""

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
    """Which calls the audit lists."""

    name: str | None
    path: str | None
    refused: bool | None
    version: int | None
    since: datetime | None
    until: datetime | None


class AccessCalls:
    """The part of `Calls` about who may call; all but `whoami` needs the scope admin."""

    def whoami(self) -> Call[wire.Whoami]:
        """The name and the scopes of the key that this client sends."""
        return Call("GET", "/admin/keys/self", wire.Whoami)

    def keys(self) -> Call[wire.KeyList]:
        """Every key that was issued; their secrets are stored nowhere."""
        return Call("GET", "/admin/keys", wire.KeyList)

    def make_key(
        self, name: str, scopes: Sequence[Scope], *, expires_in_s: float | None = None
    ) -> Call[wire.NewKey]:
        """Make a key, shown once, in the response. expires_in_s: seconds until it ends; None for no end."""
        body = build(wire.KeyRequest, name=name, scopes=list(scopes), expires_in_s=expires_in_s)
        return Call("POST", "/admin/keys", wire.NewKey, body, reads=False)

    def rotate_key(
        self, name: str, *, keep_old_s: float = DAY_S, expires_in_s: float | None = None
    ) -> Call[wire.NewKey]:
        """Give the key a new secret. keep_old_s: for how long the old one stays valid. expires_in_s: its new end."""
        body = build(wire.RotateRequest, keep_old_s=keep_old_s, expires_in_s=expires_in_s)
        return Call("POST", f"{_key_path(name)}/rotations", wire.NewKey, body, reads=False)

    def revoke_key(self, name: str) -> Call[wire.KeyState]:
        """Revoke a key: within a second it opens nothing any more."""
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
        """The newest calls of the admin routes first. before: `next` of the page before this one."""
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
