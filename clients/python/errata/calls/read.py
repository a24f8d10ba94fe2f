"""Calls that read: versions, differences and fact tests, the graph, documents, models and memories."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from urllib.parse import quote

from errata import wire
from errata.calls.method import Builder, Method
from errata.request import Call, build, check, new_key, quote_part


class ReadCalls(Builder):
    """The part of `Calls` that reads."""

    @Method
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
            before: Only commits before this version.
            grep: A text, in any case, in the message, or in a question, an answer or a fact of the commit.
            since: Only commits from this time on.
            by_day: Number of days, today the last, whose edits are counted in `edits_by_day`; no filter holds for it.
        """
        query = {"limit": limit, "before": before, "grep": grep, "author": author, "since": since}
        return Call("GET", "/admin/versions", wire.VersionLog, query={**query, "by_day": by_day})

    @Method
    def show(self, version: int, *, wait_report: bool = False) -> Call[wire.VersionDetail]:
        """Return one commit with its edits, its report and its writes; `wait_report` waits until that is measured."""
        path = f"/admin/versions/{check(wire.CommitVersion, version=version)}"
        return Call("GET", path, wire.VersionDetail, query={"wait_report": wait_report or None})

    @Method
    def show_edit(self, id: str) -> Call[wire.EditDetail]:
        """Return one edit, with its author, time and message."""
        return Call("GET", f"/admin/edits/{quote(id, safe='')}", wire.EditDetail)

    @Method
    def active_edits(self, memory: str = "", version: int | None = None) -> Call[wire.ActiveEditList]:
        """Return every active edit as it can be sent again, in the ledger's order; or the changes of one memory."""
        query = {"memory": memory or None, "version": version}
        return Call("GET", "/admin/edits", wire.ActiveEditList, query=query, slow=True)

    @Method
    def hits(self, *, limit: int = 20) -> Call[wire.HitList]:
        """List the active edits on which most answers to users rested, the most used first."""
        return Call("GET", "/admin/hits", wire.HitList, query={"limit": limit})

    @Method
    def diff(self, from_version: int, to_version: int) -> Call[wire.Diff]:
        """List the questions that two versions answer differently."""
        return Call("GET", "/admin/diff", wire.Diff, query={"from": from_version, "to": to_version})

    @Method
    def check(self, superseded: bool = False) -> Call[wire.CheckReport]:
        """Re-run the fact tests of every active edit; `superseded` also lists tests that later edits answer."""
        query, key = {"superseded": superseded or None}, new_key()
        return Call("POST", "/admin/checks", wire.CheckReport, query=query, idempotency_key=key, slow=True)

    @Method
    def last_check(self, superseded: bool = False) -> Call[wire.CheckReport]:
        """Return the result of the last run of the fact tests."""
        return Call("GET", "/admin/checks", wire.CheckReport, query={"superseded": superseded or None})

    @Method
    def entities(self, q: str, *, limit: int = 20, version: int | None = None) -> Call[wire.EntityList]:
        """Find entities by name, the best first: those named `q`, then those whose name begins with it."""
        query = {"q": check(wire.Text, q=q), "limit": None if limit == 20 else limit, "version": version}
        return Call("GET", "/v1/entities", wire.EntityList, query=query)

    @Method
    def entity(self, id: str, *, version: int | None = None) -> Call[wire.EntityState]:
        """Return one entity with its facts, and those that were removed, at a version or now."""
        path = f"/v1/entities/{quote_part(wire.Text, id=id)}"
        return Call("GET", path, wire.EntityState, query={"version": version})

    @Method
    def relations(self, *, version: int | None = None) -> Call[wire.RelationList]:
        """List the relations in use, with what people call them."""
        return Call("GET", "/admin/graph/relations", wire.RelationList, query={"version": version})

    @Method
    def table(
        self, subject: str = "Name", *, where: Sequence[str] = (), version: int | None = None
    ) -> Call[wire.GraphTable]:
        """Return the things that edits and imports brought as a table, which an import takes again."""
        query = build(wire.TableQuery, subject=subject, where=list(where), version=version)
        return Call("GET", "/admin/graph/table", wire.GraphTable, query=query, slow=True)

    @Method
    def get_document(self, id: str, *, version: int | None = None) -> Call[wire.DocumentState]:
        """Return one document with its text, at a version or now."""
        path = f"/v1/documents/{quote_part(wire.DocumentId, id=id)}"
        return Call("GET", path, wire.DocumentState, query={"version": version})

    @Method
    def list_documents(
        self, *, limit: int = 100, after: str | None = None, version: int | None = None
    ) -> Call[wire.DocumentList]:
        """List documents without their texts, by id, from the one that follows `after`."""
        query = {"limit": None if limit == 100 else limit, "after": after, "version": version}
        return Call("GET", "/v1/documents", wire.DocumentList, query=query)

    @Method
    def models(self) -> Call[wire.ModelList]:
        """List the systems that answer."""
        return Call("GET", "/v1/models", wire.ModelList)

    @Method
    def memory(self) -> Call[wire.MemoryState]:
        """Return the version, the checksum of each memory, and counts of edits."""
        return Call("GET", "/v1/memory", wire.MemoryState)

    @Method
    def replicas(self) -> Call[wire.ReplicaList]:
        """List the version, checksums and health of each replica."""
        return Call("GET", "/admin/replicas", wire.ReplicaList)
