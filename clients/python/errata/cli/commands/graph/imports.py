"""`errata import`: fill the knowledge graph from a file, with a bar that shows how far it is."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Annotated, BinaryIO

import typer

from errata.cli.commands.graph.columns import ask_columns
from errata.cli.options import DryRun, Expect, Key, Message, NoWait, Strict, Verbose, commit_options
from errata.cli.progress import ProgressDisplay
from errata.cli.receipts import require_success
from errata.cli.render.graph.imports import draw_import, format_rejected
from errata.cli.render.text import plural
from errata.cli.session import Session, check_writable, is_terminal
from errata.wire import Format, ImportCounts

STDIN = "-"

File = Annotated[str, typer.Argument(metavar="FILE", help="The file with triples; - is stdin.")]
FileFormat = Annotated[Format | None, typer.Option(help="By its content if left out.", show_default=False)]
Language = Annotated[
    str, typer.Option(help="Take labels in this language, or else in one of its regions (en-GB).")
]
Subject = Annotated[
    str,
    typer.Option(
        "--subject",
        metavar="COLUMN",
        help="The file is a table with a row for each thing, whose name is in this column; the others are its facts.",
    ),
]
Sheet = Annotated[str, typer.Option("--sheet", help="The sheet of a workbook that has several.")]
Column = Annotated[
    list[str] | None,
    typer.Option(
        metavar="HEADING=RELATION",
        help="A column that is not called as its relation is; HEADING= leaves it out; may be repeated.",
    ),
]
KeepCorrections = Annotated[
    bool, typer.Option("--keep-corrections", help="Leave out what goes against the edits of people.")
]
RejectedFile = Annotated[
    Path | None, typer.Option("--rejected", metavar="FILE", help="Write the rejected lines there, as TSV.")
]


def import_(
    session: Session,
    file: File,
    format: FileFormat = None,
    language: Language = "en",
    rejected_file: RejectedFile = None,
    subject: Subject = "",
    sheet: Sheet = "",
    column: Column = None,
    keep_corrections: KeepCorrections = False,
    message: Message = "",
    dry_run: DryRun = False,
    strict: Strict = False,
    expect: Expect = None,
    no_wait: NoWait = False,
    idempotency_key: Key = None,
    verbose: Verbose = False,
) -> None:
    """Fill the knowledge graph from a file, in one commit.

    TSV (.spo) of subject, relation and object, CSV or an Excel workbook whose first line names these columns,
    N-Triples, or Wikidata JSON. With --subject, a table as a spreadsheet has it. Commas, semicolons or tabs may stand
    between the columns of CSV.
    """
    if rejected_file is not None:
        check_writable(rejected_file)  # before the import, which is not made again for the sake of a list
    source, columns = open_source(file), column or []
    if isinstance(source, Path) and subject and not session.as_json and is_terminal():
        columns = ask_columns(session, source, subject, sheet, columns)
    commit = commit_options(message, no_wait, idempotency_key, strict, dry_run)
    display = ProgressDisplay(session.err)
    call = session.calls.import_graph(
        source,
        format=format,
        source="stdin" if file == STDIN else None,
        language=language,
        progress=display.update,
        expected_version=expect,
        keep_corrections=keep_corrections,
        subject=subject,
        sheet=sheet,
        column=columns,
        **commit,
    )
    reply = session.send(call, "Importing", display)
    session.show(reply, partial(draw_import, verbose=verbose))
    if rejected_file is not None:
        write_rejected(session, rejected_file, reply.value.counts)
    require_success(reply.value.report)


def write_rejected(session: Session, file: Path, counts: ImportCounts) -> None:
    session.write_file(file, format_rejected(counts), "; the import is as told above")
    count = plural(len(counts.rejected_lines), "rejected line")
    session.err.print(f"{file} has {count}.", soft_wrap=True)


def open_source(file: str) -> Path | BinaryIO:
    if file != STDIN:
        return Path(file)
    if sys.stdin is None:
        raise typer.BadParameter("stdin is closed: give a file")
    return sys.stdin.buffer
