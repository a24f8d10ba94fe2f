"""`errata backup` and `restore`: the whole ledger as one file, and back."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, BinaryIO

import typer
from rich.console import RenderableType
from rich.text import Text

from errata.cli.progress import pace
from errata.cli.render.text import plural
from errata.cli.session import Session
from errata.wire import BackupHead, RestoreReceipt

PIPE = "-"


def backup(
    here: Session,
    file: Annotated[str, typer.Argument(metavar="FILE", help="Where to; - is stdout.")],
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
) -> None:
    """Write all that cannot be made again into one file: commits, rows, graph, tags, audit, keys without secrets."""
    if file != PIPE and Path(file).exists() and not force:
        raise typer.BadParameter(f"{file} is there already: choose another name, or --force")
    showing = pace(here.err)
    into: Path | BinaryIO = sys.stdout.buffer if file == PIPE else Path(file)
    reply = here.send(here.calls.backup(into, progress=showing.tell), "Writing the backup", showing)
    if file == PIPE:
        here.err.print(_made(reply.value, "stdout"), soft_wrap=True)
    else:
        here.show(reply, lambda head: _made(head, file))


def restore(
    here: Session,
    file: Annotated[str, typer.Argument(metavar="FILE", help="What `errata backup` wrote; - is stdin.")],
) -> None:
    """Put a backup into an empty ledger, bit for bit; its keys open nothing until they are rotated."""
    showing = pace(here.err)
    given: Path | BinaryIO = sys.stdin.buffer if file == PIPE else Path(file)
    reply = here.send(here.calls.restore(given, progress=showing.tell), "Restoring", showing)
    here.show(reply, _restored)


def _made(head: BackupHead, file: str) -> Text:
    when = f"{datetime.fromtimestamp(head.created, UTC).astimezone():%Y-%m-%d %H:%M}"
    return Text(f"{file} holds {plural(head.version, 'version')}, as of {when}, and is whole.")


def _restored(receipt: RestoreReceipt) -> RenderableType:
    brought = ", ".join(
        plural(count, what)
        for count, what in (
            (receipt.commits, "commit"),
            (receipt.tags, "tag"),
            (receipt.keys, "key"),
            (receipt.audit, "noted call"),
        )
    )
    rotate = " Rotate the keys: `errata keys rotate NAME`." if receipt.keys else ""
    return Text(f"The ledger is at version {receipt.version}: {brought} restored.{rotate}")
