"""Calls for who looks after the service: worklist, reviews, proposals, tags, keys, the audit, backup and restore."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import BinaryIO, Literal, TypedDict, Unpack
from urllib.parse import quote

from errata import wire
from errata.calls.method import Builder, Method
from errata.files import Download, Progress, Upload
from errata.request import Call, build, quote_part

DAY_S = 86_400.0
GAPS, PROPOSALS = "/admin/gaps", "/admin/proposals"


class AuditFilters(TypedDict, total=False):
    """Filters of the audit's list."""

    name: str | None
    path: str | None
    refused: bool | None
    version: int | None
    since: datetime | None
    until: datetime | None


class AdminCalls(Builder):
    """The part of `Calls` that an administrator needs."""

    @Method
    def gaps(self, *, limit: int = 50) -> Call[wire.GapPage]:
        """List questions that were declined, or answered beside a near edit, the most asked first."""
        return Call("GET", GAPS, wire.GapPage, query={"limit": limit})

    @Method
    def gap(self, line: int) -> Call[wire.Gap]:
        """Return one line of the worklist by its number."""
        return Call("GET", f"{GAPS}/{line:d}", wire.Gap)

    @Method
    def drop_gap(self, line: int) -> Call[wire.Gap]:
        """Take a line out of the worklist. A question that is asked again gets a new line."""
        return Call("DELETE", f"{GAPS}/{line:d}", wire.Gap, reads=False)

    @Method
    def check_gaps(self) -> Call[wire.GapCheck]:
        """Ask the 256 most asked lines again, and take out those that are answered now."""
        return Call("POST", "/admin/gap-checks", wire.GapCheck, reads=False, slow=True)

    @Method
    def reviews(self, *, due: bool = False, limit: int = 100) -> Call[wire.ReviewList]:
        """List active edits with the days on which they are looked at again; `due` lists those whose day has come."""
        return Call("GET", "/admin/reviews", wire.ReviewList, query={"due": due or None, "limit": limit})

    @Method
    def review(self, id: str, on: date | None) -> Call[wire.EditDetail]:
        """Set the day on which a person looks at an edit again; None takes it away."""
        path = f"/admin/edits/{quote(id, safe='')}/review"
        return Call("PUT", path, wire.EditDetail, build(wire.ReviewRequest, on=on), reads=False)

    @Method
    def propose(
        self,
        edits: Iterable[wire.Item],
        *,
        message: str = "",
        expires_in_s: float = wire.FOUR_WEEKS_S,
        review: date | None = None,
    ) -> Call[wire.Proposal]:
        """Store edits that another key may approve; it needs the scope propose."""
        fields = {"message": message, "expires_in_s": expires_in_s, "review": review}
        body = build(wire.ProposalRequest, edits=list(edits), **fields)
        return Call("POST", PROPOSALS, wire.Proposal, body, reads=False, slow=True)

    @Method
    def proposals(self, state: Literal["open", "all"] = "open") -> Call[wire.ProposalList]:
        """List proposals, the newest first."""
        return Call("GET", PROPOSALS, wire.ProposalList, query={"state": state})

    @Method
    def proposal(self, number: int) -> Call[wire.Proposal]:
        """Return a proposal; the report of an open one is measured now, on the newest version."""
        return Call("GET", f"{PROPOSALS}/{number:d}", wire.Proposal, slow=True)

    @Method
    def approve(self, number: int, *, expected_version: int | None = None) -> Call[wire.Proposal]:
        """Make the commit of a proposal; StaleVersion if the ledger has moved on from the expected version."""
        body = build(wire.ApprovalRequest, expected_version=expected_version)
        return Call("POST", f"{PROPOSALS}/{number:d}/approval", wire.Proposal, body, reads=False, slow=True)

    @Method
    def reject(self, number: int, reason: str = "") -> Call[wire.Proposal]:
        """Decide that a proposal will not be made, with a reason for its author."""
        body = build(wire.RejectionRequest, reason=reason)
        return Call("POST", f"{PROPOSALS}/{number:d}/rejection", wire.Proposal, body, reads=False)

    @Method
    def tags(self) -> Call[wire.TagList]:
        """List every tag, the newest version first."""
        return Call("GET", "/admin/tags", wire.TagList)

    @Method
    def tag(self, name: str, version: int) -> Call[wire.Tag]:
        """Give `version` this name, or move the name there."""
        body = build(wire.TagRequest, version=version)
        return Call("PUT", _tag_path(name), wire.Tag, body, reads=False, slow=True)

    @Method
    def untag(self, name: str) -> Call[wire.Tag]:
        """Delete the name; the version stays."""
        return Call("DELETE", _tag_path(name), wire.Tag, reads=False)

    @Method
    def whoami(self) -> Call[wire.Whoami]:
        """Return the name and the scopes of the key that this client sends."""
        return Call("GET", "/admin/keys/self", wire.Whoami)

    @Method
    def keys(self) -> Call[wire.KeyList]:
        """List every key that was issued, without secrets, which are stored nowhere."""
        return Call("GET", "/admin/keys", wire.KeyList)

    @Method
    def make_key(
        self, name: str, scopes: Sequence[wire.Scope], *, expires_in_s: float | None = None
    ) -> Call[wire.NewKey]:
        """Make a key, which only this response shows. It ends after `expires_in_s` seconds; None is for no end."""
        body = build(wire.KeyRequest, name=name, scopes=list(scopes), expires_in_s=expires_in_s)
        return Call("POST", "/admin/keys", wire.NewKey, body, reads=False)

    @Method
    def rotate_key(
        self, name: str, *, keep_old_s: float = DAY_S, expires_in_s: float | None = None
    ) -> Call[wire.NewKey]:
        """Give the key a new secret; the old one stays valid for `keep_old_s`. `expires_in_s` moves the key's end."""
        body = build(wire.RotateRequest, keep_old_s=keep_old_s, expires_in_s=expires_in_s)
        return Call("POST", f"{_key_path(name)}/rotations", wire.NewKey, body, reads=False)

    @Method
    def revoke_key(self, name: str) -> Call[wire.KeyState]:
        """Revoke a key; within a second it is refused."""
        return Call("DELETE", _key_path(name), wire.KeyState, reads=False)

    @Method
    def audit(
        self, *, limit: int = 50, before: str | None = None, **filters: Unpack[AuditFilters]
    ) -> Call[wire.AuditPage]:
        """List calls of the admin routes, the newest first; `before` is the `next` of the preceding page."""
        query = {"limit": limit, "before": before, **filters}
        return Call("GET", "/admin/audit", wire.AuditPage, query=query)

    @Method
    def backup(
        self, into: str | Path | BinaryIO, *, progress: Progress | None = None
    ) -> Call[wire.BackupHead]:
        """Write everything that cannot be made again into one file, which appears only when it is whole."""
        return Call("GET", "/admin/export", wire.BackupHead, slow=True, download=Download(into, progress))

    @Method
    def restore(
        self, backup: str | Path | BinaryIO, *, with_keys: bool = False, progress: Progress | None = None
    ) -> Call[wire.RestoreReceipt]:
        """Restore a backup into an empty ledger, bit for bit. The same backup, given again, goes on where it stopped.

        Args:
            backup: A path, or a file open for reading bytes.
            with_keys: True restores its keys so that they work; otherwise each works only after it is rotated.
            progress: Is called with the bytes sent.
        """
        upload, query = Upload(backup, progress), {"with_keys": with_keys or None}
        path, returns = "/admin/import", wire.RestoreReceipt
        return Call("POST", path, returns, query=query, reads=False, slow=True, upload=upload)


def _key_path(name: str) -> str:
    return f"/admin/keys/{quote_part(wire.KeyName, name=name)}"


def _tag_path(name: str) -> str:
    return f"/admin/tags/{quote_part(wire.TagName, name=name)}"
