"""What can be asked about keys and about who called: who may do what, and who did."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from urllib.parse import quote

from errata import wire
from errata.call import Call
from errata.committing import checked
from errata.wire import KeyName, Request, Scope

DAY_S = 86_400.0


class _Named(Request):
    name: KeyName


class AccessCalls:
    """The part of `Calls` that needs the scope admin."""

    def keys(self) -> Call[wire.KeyList]:
        """Every key that was issued; what opens them is kept nowhere."""
        return Call("GET", "/admin/keys", wire.KeyList)

    def make_key(
        self, name: str, scopes: Sequence[Scope], *, expires_in_s: float | None = None
    ) -> Call[wire.NewKey]:
        """Make a key, shown once, in the response. expires_in_s: seconds until it ends; None for no end."""
        body = checked(wire.KeyRequest, name=name, scopes=list(scopes), expires_in_s=expires_in_s)
        return Call("POST", "/admin/keys", wire.NewKey, body, reads=False)

    def rotate_key(
        self, name: str, *, keep_old_s: float = DAY_S, expires_in_s: float | None = None
    ) -> Call[wire.NewKey]:
        """Give the key a new secret. keep_old_s: for how long the old one stays valid. expires_in_s: its new end."""
        body = checked(wire.RotateRequest, keep_old_s=keep_old_s, expires_in_s=expires_in_s)
        return Call("POST", f"{_path(name)}/rotations", wire.NewKey, body, reads=False)

    def revoke_key(self, name: str) -> Call[wire.KeyState]:
        """Within a second this key opens nothing any more."""
        return Call("DELETE", _path(name), wire.KeyState, reads=False)

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
        wanted: dict[str, int | str | None] = {
            "limit": limit,
            "before": before,
            "name": name,
            "path": path,
            "refused": None if refused is None else str(refused).lower(),
            "version": version,
            "since": None if since is None else str(since.timestamp()),
            "until": None if until is None else str(until.timestamp()),
        }
        query = {field: value for field, value in wanted.items() if value is not None}
        return Call("GET", "/admin/audit", wire.AuditPage, query=query)


def _path(name: str) -> str:
    return f"/admin/keys/{quote(checked(_Named, name=name).name, safe='')}"
