"""`errata audit`: who called the service."""

from __future__ import annotations

from typing import Annotated

import typer

from errata.calls.admin import AuditFilters
from errata.cli.options import Time, restate
from errata.cli.render.status import draw_audit
from errata.cli.session import Session

PAGE_SIZE = 1_000
LIMIT = 50


def audit(
    session: Session,
    limit: Annotated[int, typer.Option(min=1, max=1_000)] = LIMIT,
    before: str | None = None,
    name: str | None = None,
    path: str | None = None,
    refused: Annotated[bool | None, typer.Option("--refused/--done")] = None,
    version: Annotated[int | None, typer.Option(min=1)] = None,
    since: Time = None,
    until: Time = None,
    export: bool = False,
) -> None:
    """Show who called the admin routes, the refused ones too.

    Args:
        limit: How many calls.
        before (ID): Go on from an older page, as it says at its end.
        name: Only calls with this name's key.
        path: Only routes that begin like this: /admin/edits
        refused: Only those that were refused, or only the others.
        version: Only the call that made this version.
        since: Only from this local time on: 2026-11-22 or '2026-11-22 14:30'.
        until: Only up to this local time.
        export: All of them, as JSON Lines: one call a line, the newest first.
    """
    filters = AuditFilters(name=name, path=path, refused=refused, version=version, since=since, until=until)
    if export:
        for entry in session.errata.iterate_audit(before=before, page_size=PAGE_SIZE, **filters):
            typer.echo(entry.model_dump_json(exclude_none=True))
        return
    flags = {"limit": limit if limit != LIMIT else None, "refused": refused, "done": refused is False}
    options = restate(**flags, name=name, path=path, version=version, since=since, until=until)
    reply = session.send(session.calls.audit(limit=limit, before=before, **filters), "Reading the audit")
    while not reply.value.entries and reply.value.next:
        call = session.calls.audit(limit=limit, before=reply.value.next, **filters)
        reply = session.send(call, "Reading the audit")
    session.show(reply, lambda page: draw_audit(page, options))
