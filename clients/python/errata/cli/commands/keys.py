"""`errata keys`, `whoami` and `audit`: who may call the service, and who has called it."""

from __future__ import annotations

import re
import shlex
from datetime import datetime
from functools import partial
from typing import Annotated, cast

import typer

from errata.calls.admin import DAY_S
from errata.cli.options import TIMES, parse_time
from errata.cli.render.status import draw_audit, draw_keys, draw_new_key, draw_revocation, draw_whoami
from errata.cli.session import Session
from errata.wire import Scope

SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


def parse_span(text: str) -> float:
    """Return the seconds of a text such as 90d, 24h, 30m or 0."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smhdw]?)", text.strip())
    if not match or (not match[2] and float(match[1])):
        raise typer.BadParameter(f"{text!r} is no time: write a number and s, m, h, d or w, such as 90d")
    return float(match[1]) * SECONDS.get(match[2], 1)


Name = Annotated[str, typer.Argument(help="Whose key it is; the ledger notes it as the author.")]
Scopes = Annotated[
    list[str],
    typer.Option(
        "--scope", "-s", help="What it may do: ask, read, propose, edit, admin; repeat it for several."
    ),
]
ExpiresIn = Annotated[
    float | None,
    typer.Option(parser=parse_span, metavar="TIME", help="After that it opens nothing, e.g. 90d."),
]
KeepOld = Annotated[
    float | None,
    typer.Option(parser=parse_span, metavar="TIME", help="How long the old one opens yet: a day, or 0."),
]


def list_(session: Session) -> None:
    """List the keys that were issued, the revoked ones too."""
    session.show(session.send(session.calls.keys(), "Reading the keys"), draw_keys)


def create(session: Session, name: Name, scope: Scopes, expires_in: ExpiresIn = None) -> None:
    """Make a key and show it, once."""
    call = session.calls.make_key(name, cast("list[Scope]", scope), expires_in_s=expires_in)
    session.show(session.send(call, "Making the key"), draw_new_key)


def rotate(session: Session, name: Name, keep_old: KeepOld = None, expires_in: ExpiresIn = None) -> None:
    """Give a key a new secret; the old one opens for a day yet, or as long as --keep-old says."""
    overlap_s = DAY_S if keep_old is None else keep_old
    call = session.calls.rotate_key(name, keep_old_s=overlap_s, expires_in_s=expires_in)
    session.show(session.send(call, "Making the key"), draw_new_key)


def revoke(session: Session, name: Name) -> None:
    """Revoke a key: within a second it opens nothing."""
    session.show(session.send(session.calls.revoke_key(name), "Revoking the key"), draw_revocation)


def whoami(session: Session) -> None:
    """Show what the key you use may do."""
    session.show(session.send(session.calls.whoami(), "Asking who you are"), draw_whoami)


PAGE_SIZE = 1_000
LIMIT = 50

Limit = Annotated[int, typer.Option("--limit", "-n", min=1, max=1_000, help="How many calls.")]
Before = Annotated[
    str | None,
    typer.Option(metavar="ID", help="Go on from an older page, as it says at its end."),
]
Caller = Annotated[str | None, typer.Option(help="Only calls with this name's key.")]
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
    name: Caller = None,
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
