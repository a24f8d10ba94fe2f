"""`errata backup`, `restore`."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path

import typer
from rich.console import RenderableType
from rich.text import Text

from errata.cli.progress import ProgressDisplay
from errata.cli.render.text import plural
from errata.cli.session import Session
from errata.wire import BackupHead, RestoreReceipt

PIPE = "-"


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
