"""Calls that read the ledger: versions, their differences and tags, and the fact tests."""

from __future__ import annotations

from datetime import date, datetime
from urllib.parse import quote

from errata import wire
from errata.request import Call, build, new_key, to_query
from errata.wire import Request, TagName


class _TagPath(Request):
    name: TagName


class HistoryCalls:
    """The part of `Calls` about versions."""

    def log(
        self,
        *,
        limit: int = 20,
        before: int | None = None,
        grep: str | None = None,
        author: str | None = None,
        since: datetime | None = None,
        by_day: int | None = None,
    ) -> Call[wire.VersionLog]:
        """List commits, the newest first.

        Args:
            limit: Largest number of commits.
            before: Only commits before this version.
            grep: A text, in any case, in the message, or in a question, an answer or a fact of the commit.
            author: The commit's author.
            since: Only commits from this time on.
            by_day: Number of days, today the last, whose edits are counted in `edits_by_day`; no filter holds for it.
        """
        since_s = since and str(since.timestamp())
        query = to_query(limit=limit, before=before, grep=grep, author=author, since=since_s, by_day=by_day)
        return Call("GET", "/admin/versions", wire.VersionLog, query=query)

    def show(self, version: int, *, wait_report: bool = False) -> Call[wire.VersionDetail]:
        """Return one commit with its edits, its report and its writes; `wait_report` waits until that is measured."""
        number = build(wire.RevertRequest, version=version).version
        query = to_query(wait_report=wait_report or None)
        return Call("GET", f"/admin/versions/{number}", wire.VersionDetail, query=query)

    def show_edit(self, id: str) -> Call[wire.EditDetail]:
        """Return one edit, with its author, time and message."""
        return Call("GET", f"/admin/edits/{quote(id, safe='')}", wire.EditDetail)

    def active_edits(self) -> Call[wire.ActiveEditList]:
        """Return every active edit as it can be sent again, in the ledger's order."""
        return Call("GET", "/admin/edits", wire.ActiveEditList, slow=True)

    def reviews(self, *, due: bool = False, limit: int = 100) -> Call[wire.ReviewList]:
        """List active edits with the days on which they are looked at again; `due` lists those whose day has come."""
        query = to_query(due=due or None, limit=limit)
        return Call("GET", "/admin/reviews", wire.ReviewList, query=query)

    def hits(self, *, limit: int = 20) -> Call[wire.HitList]:
        """List the active edits on which most answers to users rested, the most used first."""
        return Call("GET", "/admin/hits", wire.HitList, query=to_query(limit=limit))

    def review(self, id: str, on: date | None) -> Call[wire.EditDetail]:
        """Set the day on which a person looks at an edit again; None takes it away."""
        body = build(wire.ReviewRequest, on=on)
        path = f"/admin/edits/{quote(id, safe='')}/review"
        return Call("PUT", path, wire.EditDetail, body, reads=False)

    def scope(
        self, question: str, *, model: str | None = None, version: int | None = None
    ) -> Call[wire.ScopeReport]:
        """List the edits that a question resembles most, and why each does or does not answer it, at any version."""
        query = to_query(question=question, model=model, version=version)
        return Call("GET", "/admin/scope", wire.ScopeReport, query=query)

    def diff(self, from_version: int, to_version: int) -> Call[wire.Diff]:
        """List the questions that two versions answer differently."""
        return Call("GET", "/admin/diff", wire.Diff, query={"from": from_version, "to": to_version})

    def check(self, superseded: bool = False) -> Call[wire.CheckReport]:
        """Re-run the fact tests of every active edit; `superseded` also lists tests that later edits answer."""
        query = to_query(superseded=superseded or None)
        return Call(
            "POST", "/admin/checks", wire.CheckReport, query=query, idempotency_key=new_key(), slow=True
        )

    def last_check(self, superseded: bool = False) -> Call[wire.CheckReport]:
        """Return the result of the last run of the fact tests."""
        query = to_query(superseded=superseded or None)
        return Call("GET", "/admin/checks", wire.CheckReport, query=query)

    def tags(self) -> Call[wire.TagList]:
        """List every tag, the newest version first."""
        return Call("GET", "/admin/tags", wire.TagList)

    def tag(self, name: str, version: int) -> Call[wire.Tag]:
        """Give `version` this name, or move the name there."""
        body = build(wire.TagRequest, version=version)
        return Call("PUT", _tag_path(name), wire.Tag, body, reads=False, slow=True)

    def untag(self, name: str) -> Call[wire.Tag]:
        """Delete the name; the version stays."""
        return Call("DELETE", _tag_path(name), wire.Tag, reads=False)


def _tag_path(name: str) -> str:
    return f"/admin/tags/{quote(build(_TagPath, name=name).name, safe='')}"
