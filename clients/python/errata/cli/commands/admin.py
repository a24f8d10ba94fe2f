"""`errata keys`, `whoami`, `audit`: who may call the service, and who did; `backup`, `restore`, `mcp`."""

from __future__ import annotations

import re
import sys
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated, cast

import typer
from rich.console import RenderableType
from rich.text import Text

from errata.calls.admin import DAY_S
from errata.cli.options import Time, restate
from errata.cli.render.status import draw_audit, draw_keys, draw_new_key, draw_revocation, draw_whoami
from errata.cli.render.text import plural
from errata.cli.session import ProgressDisplay, Session
from errata.wire import BackupHead, RestoreReceipt, Scope

PIPE = "-"
NEEDS_MCP = "this needs the package mcp: pip install 'errata[mcp]'"
SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


def parse_span(text: str) -> float:
    """Return the seconds of a text such as 90d, 24h, 30m or 0."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smhdw]?)", text.strip())
    if not match or (not match[2] and float(match[1])):
        raise typer.BadParameter(f"{text!r} is no time: write a number and s, m, h, d or w, such as 90d")
    return float(match[1]) * SECONDS.get(match[2], 1)


Name = Annotated[str, typer.Argument(help="Whose key it is; the ledger notes it as the author.")]
Span = Annotated[float | None, typer.Option(parser=parse_span, metavar="TIME")]


def list_(session: Session) -> None:
    """List the keys that were issued, the revoked ones too."""
    session.run(session.calls.keys(), "Reading the keys", draw_keys)


def create(
    session: Session, name: Name, scope: Annotated[list[str], typer.Option()], expires_in: Span = None
) -> None:
    """Make a key and show it, once.

    Args:
        scope: What it may do: ask, read, propose, edit, admin; repeat it for several.
        expires_in: After that it opens nothing, e.g. 90d.
    """
    call = session.calls.make_key(name, cast("list[Scope]", scope), expires_in_s=expires_in)
    session.run(call, "Making the key", draw_new_key)


def rotate(session: Session, name: Name, keep_old: Span = None, expires_in: Span = None) -> None:
    """Give a key a new secret; the old one opens for a day yet, or as long as --keep-old says.

    Args:
        keep_old: How long the old one opens yet, e.g. 12h, or 0.
        expires_in: After that it opens nothing, e.g. 90d.
    """
    overlap_s = DAY_S if keep_old is None else keep_old
    call = session.calls.rotate_key(name, keep_old_s=overlap_s, expires_in_s=expires_in)
    session.run(call, "Making the key", draw_new_key)


def revoke(session: Session, name: Name) -> None:
    """Revoke a key: within a second it opens nothing."""
    session.run(session.calls.revoke_key(name), "Revoking the key", draw_revocation)


def whoami(session: Session) -> None:
    """Show what the key you use may do."""
    session.run(session.calls.whoami(), "Asking who you are", draw_whoami)


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
    flags = {"limit": limit if limit != LIMIT else None, "refused": refused, "done": refused is False}
    options = restate(**flags, name=name, path=path, version=version, since=since, until=until)
    reply = session.send(query(limit=limit, before=before), "Reading the audit")
    while not reply.value.entries and reply.value.next:
        reply = session.send(query(limit=limit, before=reply.value.next), "Reading the audit")
    session.show(reply, lambda page: draw_audit(page, options))


def backup(session: Session, file: str, force: bool = False) -> None:
    """Write all that cannot be made again into one file: commits, rows, graph, tags, audit, digests of keys.

    Args:
        file (FILE): Where to; - is stdout.
        force: Write over a file that is there.
    """
    if file != PIPE and Path(file).exists() and not force:
        raise typer.BadParameter(f"{file} is there already: choose another name, or --force")
    display = ProgressDisplay(session.err)
    into = sys.stdout.buffer if file == PIPE else file
    reply = session.send(session.calls.backup(into, progress=display.update), "Writing the backup", display)
    if file == PIPE:
        session.err.print(draw_backup(reply.value, "stdout"), soft_wrap=True)
    else:
        session.show(reply, lambda head: draw_backup(head, file))


def restore(session: Session, file: str, with_keys: bool = False) -> None:
    """Put a backup into an empty ledger, bit for bit; its keys open nothing until they are rotated.

    Args:
        file (FILE): What `errata backup` wrote; - is stdin.
        with_keys: Its keys open what they opened: for a backup of your own.
    """
    display = ProgressDisplay(session.err)
    source = sys.stdin.buffer if file == PIPE else file
    call = session.calls.restore(source, with_keys=with_keys, progress=display.update)
    session.show(session.send(call, "Restoring", display), lambda receipt: draw_restore(receipt, with_keys))


def draw_backup(head: BackupHead, file: str) -> Text:
    when = f"{datetime.fromtimestamp(head.created, UTC).astimezone():%Y-%m-%d %H:%M}"
    return Text(f"{file} holds {plural(head.version, 'version')}, as of {when}, and is whole.")


def draw_restore(receipt: RestoreReceipt, with_keys: bool = False) -> RenderableType:
    counts = {
        "commit": receipt.commits,
        "tag": receipt.tags,
        "key": receipt.keys,
        "noted call": receipt.audit,
    }
    if not any(counts.values()):
        return Text(f"The ledger is at version {receipt.version}: all of this backup was there already.")
    parts = ", ".join(plural(count, noun) for noun, count in counts.items())
    advice = " Rotate the keys: `errata keys rotate NAME`."
    if with_keys:
        advice = " Revoke again what was revoked after the backup: `errata keys list`."
    advice = advice if receipt.keys else ""
    return Text(f"The ledger is at version {receipt.version}: {parts} restored.{advice}")


def mcp(session: Session) -> None:
    """Serve tools to a program that starts this command: it asks, looks back, and proposes corrections."""
    try:
        from errata.mcp.stdio import run
    except ImportError as error:
        raise typer.BadParameter(NEEDS_MCP) from error
    run(str(session.errata.url), session.errata.headers)
