"""`errata audit`: calls of the admin routes, with callers and outcomes."""

from __future__ import annotations

import shlex
from datetime import datetime
from functools import partial
from typing import Annotated

import typer

from errata.cli.options import TIMES, parse_time
from errata.cli.render.access import draw_audit
from errata.cli.session import Session

PAGE_SIZE = 1_000
LIMIT = 50

Limit = Annotated[int, typer.Option("--limit", "-n", min=1, max=1_000, help="How many calls.")]
Before = Annotated[
    str | None,
    typer.Option(metavar="ID", help="Go on from an older page, as it says at its end."),
]
Name = Annotated[str | None, typer.Option(help="Only calls with this name's key.")]
Path = Annotated[str | None, typer.Option(help="Only routes that begin like this: /admin/edits")]
Refused = Annotated[
    bool | None, typer.Option("--refused/--done", help="Only those that were refused, or only the others.")
]
Version = Annotated[int | None, typer.Option(min=1, help="Only the call that made this version.")]
time_option = partial(typer.Option, parser=parse_time, metavar="TIME")
Since = Annotated[datetime | None, time_option(help=f"Only from this local time on: {TIMES}.")]
Until = Annotated[datetime | None, time_option(help="Only up to this local time.")]
Export = Annotated[
    bool, typer.Option("--export", help="All of them, as JSON Lines: one call a line, the newest first.")
]


def audit(
    session: Session,
    limit: Limit = LIMIT,
    before: Before = None,
    name: Name = None,
    path: Path = None,
    refused: Refused = None,
    version: Version = None,
    since: Since = None,
    until: Until = None,
    export: Export = False,
) -> None:
    """Show who called the admin routes, the refused ones too."""
    query = partial(
        session.calls.audit, name=name, path=path, refused=refused, version=version, since=since, until=until
    )
    while export:
        page = session.send(query(limit=PAGE_SIZE, before=before), "Reading the audit").value
        for entry in page.entries:
            typer.echo(entry.model_dump_json(exclude_none=True))
        before = page.next
        if before is None:
            return
    options = [] if limit == LIMIT else ["--limit", str(limit)]
    options += [] if refused is None else ["--refused" if refused else "--done"]
    filters = {
        "--name": name,
        "--path": path,
        "--version": version,
        "--since": since and since.isoformat(timespec="seconds"),
        "--until": until and until.isoformat(timespec="seconds"),
    }
    for option, value in filters.items():
        options += [] if value is None else [option, str(value)]
    reply = session.send(query(limit=limit, before=before), "Reading the audit")
    while not reply.value.entries and reply.value.next:
        reply = session.send(query(limit=limit, before=reply.value.next), "Reading the audit")
    session.show(reply, lambda page: draw_audit(page, shlex.join(options)))
