"""`errata export`: the things of the graph as a table, which `errata import` takes again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from errata.bulk.export import make_rows
from errata.cli.options import AtOrTag
from errata.cli.render.text import make_printable, plural
from errata.cli.session import Session
from errata.tables.writer import SUFFIXES, format_table, warn_of_formulas
from errata.wire import ActiveEditList, GraphTable


def export(
    session: Session,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to: .xlsx, .csv or .tsv.")],
    subject: Annotated[str, typer.Option(metavar="HEADING", help="Heading of the names.")] = "Name",
    where: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RELATION=VALUE", help="Only things of which the graph says this; may be repeated."
        ),
    ] = None,
    at: AtOrTag = None,
    edits: Annotated[
        bool,
        typer.Option("--edits", help="Every active edit and fact, as `errata edit --file` takes it."),
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
) -> None:
    """Write what edits and imports brought as a table: a row for each thing, a column for each relation.

    `errata import FILE --subject HEADING` takes it again. Several values of a relation are lines of one cell. With
    --edits, a row for each active edit and fact, in the order in which they were made: `errata edit --file FILE` makes
    them again.
    """
    if file.suffix.lower() not in SUFFIXES:
        raise typer.BadParameter(f"{file}: the name ends in {', '.join(SUFFIXES)}")
    if file.exists() and not force:
        raise typer.BadParameter(f"{file} is there already: choose another name, or --force")
    if edits and (where or at):
        raise typer.BadParameter("--edits are all that are active now: leave --where and --at out")
    value: ActiveEditList | GraphTable
    if edits:
        edit_list = session.send(session.calls.active_edits(), "Reading the edits")
        (columns, rows), value, raw = make_rows(edit_list.value), edit_list.value, edit_list.raw
    else:
        version = None if at is None else session.resolve_version(at)
        table = session.send(
            session.calls.table(subject, where=where or (), version=version), "Reading the graph"
        )
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
