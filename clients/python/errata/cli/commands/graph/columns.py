"""Asks a person about the columns of a table whose headings are no relation of the graph yet."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

import typer

from errata.cli.session import Session
from errata.tables.headings import read_headings
from errata.tables.workbook import WorkbookError

LEAVE_OUT = "-"
ADVICE = "Enter makes a new relation of it, {} leaves the column out, and the name of a relation takes it for that."


def ask_columns(session: Session, file: Path, subject: str, sheet: str, columns: Sequence[str]) -> list[str]:
    """Return the columns with those that a person was asked about, each as HEADING=RELATION.

    Args:
        session: The session, whose terminal is asked.
        file: The table.
        subject: Heading of the column with the names of things.
        sheet: Name of the sheet of a workbook.
        columns: Columns that need no question.
    """
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
