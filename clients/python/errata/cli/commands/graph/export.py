"""`errata export`: the things of the graph as a table, which `errata import` takes again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from errata.cli.options import AtOrTag
from errata.cli.render.text import make_printable, plural
from errata.cli.session import Session
from errata.tables.writer import SUFFIXES, format_table


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
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
) -> None:
    """Write what edits and imports brought as a table: a row for each thing, a column for each relation.

    `errata import FILE --subject HEADING` takes it again. Several values of a relation are lines of one cell.
    """
    if file.suffix.lower() not in SUFFIXES:
        raise typer.BadParameter(f"{file}: the name ends in {', '.join(SUFFIXES)}")
    if file.exists() and not force:
        raise typer.BadParameter(f"{file} is there already: choose another name, or --force")
    version = None if at is None else session.resolve_version(at)
    call = session.calls.table(subject, where=where or (), version=version)
    reply = session.send(call, "Reading the graph")
    table = reply.value
    try:
        content = format_table(file.suffix.lower(), table.columns, table.rows)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    session.write_file(file, content)
    if session.as_json:
        typer.echo(reply.raw)
        return
    size = f"{plural(len(table.rows), 'row')} and {plural(len(table.columns), 'column')}"
    session.out.print(f"{file} has {size}, as of version {table.version}.", soft_wrap=True)
    for sentence in make_printable(table).left_out:
        session.err.print(f"warning: {sentence}", soft_wrap=True)
