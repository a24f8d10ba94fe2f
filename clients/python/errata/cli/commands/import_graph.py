"""`errata import`: fill the knowledge graph from a file, and see how far it is."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, BinaryIO

import typer

from errata.calls.graph import ImportOptions
from errata.cli.errors import Exit
from errata.cli.options import DryRun, Expect, Key, Message, NoWait, Strict, waiting_for
from errata.cli.progress import pace
from errata.cli.render.graph import draw_import, write_rejected
from errata.cli.render.text import plural
from errata.cli.session import Session
from errata.wire import Format

STDIN = "-"


def import_(
    here: Session,
    file: Annotated[str, typer.Argument(metavar="FILE", help="The file with triples; - is stdin.")],
    format: Annotated[
        Format | None,
        typer.Option("--format", help="By its content if left out.", show_default=False),
    ] = None,
    language: Annotated[str, typer.Option("--language", help="Take labels in this language.")] = "en",
    rejected: Annotated[
        Path | None,
        typer.Option("--rejected", metavar="FILE", help="Write the rejected lines there, as TSV."),
    ] = None,
    message: Message = "",
    dry_run: DryRun = False,
    strict: Strict = False,
    expect: Expect = None,
    no_wait: NoWait = False,
    idempotency_key: Key = None,
) -> None:
    """Fill the knowledge graph from a file, in one commit.

    TSV (.spo) of subject, relation and object, CSV whose first line names these columns, N-Triples, or Wikidata JSON.
    """
    if rejected is not None:
        _check_writable(rejected)
    showing = pace(here.err)
    call = here.calls.import_graph(
        _opened(file),
        format=format,
        source="stdin" if file == STDIN else None,
        language=language,
        progress=showing.tell,
        **_how(message, no_wait, idempotency_key, dry_run, expect, strict),
    )
    reply = here.send(call, "Importing", showing)
    here.show(reply, draw_import)
    if rejected is not None:
        _write(here, rejected, write_rejected(reply.value.counts))
        written = plural(len(reply.value.counts.rejected_lines), "rejected line")
        here.err.print(f"{rejected} has {written}.", soft_wrap=True)


def _how(
    message: str, no_wait: bool, key: str | None, dry_run: bool, expect: int | None, strict: bool
) -> ImportOptions:
    how = ImportOptions(message=message, wait=waiting_for(no_wait), strict=strict, dry_run=dry_run)
    if key is not None:
        how["idempotency_key"] = key
    if expect is not None:
        how["expected_version"] = expect
    return how


def _opened(file: str) -> Path | BinaryIO:
    if file != STDIN:
        return Path(file)
    if sys.stdin is None:
        raise typer.BadParameter("stdin is closed: give a file")
    return sys.stdin.buffer


def _check_writable(file: Path) -> None:
    """Before the import, which is not made again for the sake of a list."""
    try:
        file.open("ab").close()
    except OSError as error:
        raise typer.BadParameter(f"{file} cannot be written: {error.strerror}; nothing was done") from error


def _write(here: Session, file: Path, content: str) -> None:
    try:
        file.write_text(content, encoding="utf-8")
    except OSError as error:
        here.err.print(f"error: {file} cannot be written: {error.strerror}; the import is as told above")
        raise typer.Exit(Exit.UNWRITABLE) from error
