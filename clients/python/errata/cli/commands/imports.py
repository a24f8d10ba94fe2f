"""`errata import` and `errata export`: the knowledge graph from a file, with a bar, and back into a table."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import BinaryIO

import typer

from errata.bulk.records import make_rows
from errata.cli.files import check_writable
from errata.cli.options import At
from errata.cli.progress import ProgressDisplay
from errata.cli.render.escaping import make_printable, one_line
from errata.cli.render.receipt import draw_import
from errata.cli.render.text import plural
from errata.cli.session import Session, is_terminal
from errata.cli.write import Import, Write, require_success
from errata.tables.delimiter import read_headings
from errata.tables.workbook import WorkbookError
from errata.tables.writer import SUFFIXES, format_table, warn_of_formulas
from errata.wire import ActiveEditList, Format, GraphTable, ImportCounts

STDIN = "-"
LEAVE_OUT = "-"
ADVICE = "Enter makes a new relation of it, {} leaves the column out, and the name of a relation takes it for that."


def import_(
    session: Session,
    file: str,
    format: Format | None = None,
    language: str = "en",
    rejected: Path | None = None,
    subject: str = "",
    sheet: str = "",
    column: list[str] | None = None,
    keep_corrections: bool = False,
    write: Import = Write(),
) -> None:
    """Fill the knowledge graph from a file, in one commit.

    TSV (.spo) of subject, relation and object, CSV or an Excel workbook whose first line names these columns,
    RDF (N-Triples, N-Quads, Turtle, TriG, RDF/XML, JSON-LD, SPARQL's results), or Wikidata JSON. With --subject, a
    table as a spreadsheet has it. Commas, semicolons or tabs may stand between the columns of CSV.

    Args:
        file (FILE): The file with triples; - is stdin.
        format: By its content if left out.
        language: Take labels in this language, or else in one of its regions (en-GB).
        rejected (FILE): Write the rejected lines there, as TSV.
        subject (COLUMN): The file is a table with a row for each thing, whose name is in this column; the others are
            its facts.
        sheet: The sheet of a workbook that has several.
        column (HEADING=RELATION): A column that is not called as its relation is; HEADING= leaves it out, and
            HEADING=@from, @to or @time makes it the period of a row's facts; may be repeated.
        keep_corrections: Leave out what goes against the edits of people.
    """
    if rejected is not None:
        check_writable(rejected)  # before the import, which is not made again for the sake of a list
    source, columns = open_source(file), column or []
    if isinstance(source, Path) and subject and not session.as_json and is_terminal():
        columns = ask_columns(session, source, subject, sheet, columns)
    display = ProgressDisplay(session.err)
    call = session.calls.import_graph(
        source,
        format=format,
        source="stdin" if file == STDIN else None,
        language=language,
        progress=display.update,
        expected_version=write.expect,
        keep_corrections=keep_corrections,
        subject=subject,
        sheet=sheet,
        column=columns,
        **write.of_commit,
    )
    reply = session.send(call, "Importing", display)
    session.show(reply, partial(draw_import, verbose=write.verbose))
    if rejected is not None:
        session.write_file(rejected, format_rejected(reply.value.counts), "; the import is as told above")
        count = plural(len(reply.value.counts.rejected_lines), "rejected line")
        session.err.print(f"{rejected} has {count}.", soft_wrap=True)
    require_success(reply.value.report)


def open_source(file: str) -> Path | BinaryIO:
    if file != STDIN:
        return Path(file)
    if sys.stdin is None:
        raise typer.BadParameter("stdin is closed: give a file")
    return sys.stdin.buffer


def ask_columns(session: Session, file: Path, subject: str, sheet: str, columns: Sequence[str]) -> list[str]:
    """Return the columns with those that a person was asked about, each as HEADING=RELATION."""
    try:
        headings = [heading.strip() for heading in read_headings(file, sheet) if heading.strip()]
    except (OSError, WorkbookError):
        return [*columns]  # the import refuses the file, with the reason
    relations = session.send(session.calls.relations(), "Reading the relations").value.relations
    names = {
        name.casefold(): relation.relation
        for relation in relations
        for name in (relation.relation, relation.label)
    }
    known_headings = {
        subject.strip().casefold(),
        *(column.rpartition("=")[0].strip().casefold() for column in columns),
    }
    unknown = [heading for heading in headings if heading.casefold() not in {*names, *known_headings}]
    answers = list(columns)
    if unknown:
        session.err.print(ADVICE.format(LEAVE_OUT), soft_wrap=True)
    for heading in unknown:
        near = [names[name] for name in get_close_matches(heading.casefold(), names, cutoff=0.7)]
        hint = f" (like {', '.join(dict.fromkeys(near))})" if near else ""
        while True:
            reply = typer.prompt(
                f"{heading!r} is no relation yet{hint}", default="", show_default=False, err=True
            )
            if reply.strip() in ("", LEAVE_OUT) or reply.strip().casefold() in names:
                break
            session.err.print(f"There is no relation {reply.strip()!r}.", soft_wrap=True)
        if reply.strip():
            relation = "" if reply.strip() == LEAVE_OUT else names[reply.strip().casefold()]
            answers.append(f"{heading}={relation}")
    return answers


def export(
    session: Session,
    file: Path,
    subject: str = "Name",
    where: list[str] | None = None,
    at: At = None,
    edits: bool = False,
    force: bool = False,
) -> None:
    """Write what edits and imports brought as a table: a row for each thing, a column for each relation.

    `errata import FILE --subject HEADING` takes it again. Several values of a relation are lines of one cell. With
    --edits, a row for each active edit and fact, in the order in which they were made: `errata edit --file FILE` makes
    them again.

    Args:
        file (FILE): Where to: .xlsx, .csv or .tsv.
        subject (HEADING): Heading of the names.
        where (RELATION=VALUE): Only things of which the graph says this; may be repeated.
        edits: Every active edit and fact, as `errata edit --file` takes it.
        force: Write over a file that is there.
    """
    if file.suffix.lower() not in SUFFIXES:
        raise typer.BadParameter(f"{file}: the name ends in {', '.join(SUFFIXES)}")
    if file.exists() and not force:
        raise typer.BadParameter(f"{file} is there already: choose another name, or --force")
    if edits and (where or at is not None):
        raise typer.BadParameter("--edits are all that are active now: leave --where and --at out")
    value: ActiveEditList | GraphTable
    if edits:
        edit_list = session.send(session.calls.active_edits(), "Reading the edits")
        (columns, rows), value, raw = make_rows(edit_list.value), edit_list.value, edit_list.raw
    else:
        table = session.send(session.calls.table(subject, where=where or (), version=at), "Reading the graph")
        columns, rows, value, raw = table.value.columns, table.value.rows, table.value, table.raw
    try:
        content = format_table(file.suffix.lower(), columns, rows)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    session.write_file(file, content)
    if session.as_json:
        typer.echo(raw)
        return
    size = f"{plural(len(rows), 'row')} and {plural(len(columns), 'column')}"
    session.out.print(f"{file} has {size}, as of version {value.version}.", soft_wrap=True)
    for sentence in (*warn_of_formulas(file.suffix.lower(), rows), *make_printable(value).left_out):
        session.err.print(f"warning: {sentence}", soft_wrap=True)


def format_rejected(counts: ImportCounts) -> str:
    """Format the rejected lines as TSV with a header line; a line break in a value becomes a space."""
    rows = [("line", "code", "reason")]
    rows += [(str(line.line), line.code, line.reason) for line in counts.rejected_lines]
    return "".join("\t".join(map(one_line, row)) + "\n" for row in rows)
