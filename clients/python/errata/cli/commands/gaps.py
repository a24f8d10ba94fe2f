"""`errata gaps`: questions without a good answer."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated

import typer

from errata.cli.render.text import plural
from errata.cli.render.worklist import (
    draw_dropped_gap,
    draw_gap_check,
    draw_gaps,
)
from errata.cli.session import Session
from errata.errors import NotFound
from errata.wire import Gap

LIMIT = 20


def gaps(
    session: Session,
    limit: Annotated[int, typer.Option(min=1, max=2_000)] = LIMIT,
    again: bool = False,
    drop: Annotated[list[int] | None, typer.Option(min=1)] = None,
) -> None:
    """List questions that were declined or nearly answered by an edit, the most asked first.

    `errata edit LINE "ANSWER"` answers one. The service counts them when it is started with --gaps-days.

    Args:
        limit: How many lines.
        again: Ask the lines again first, and take out those that are answered now.
        drop (LINE): Take out a line that is not worth an answer; may be repeated.
    """
    for line in drop or ():
        session.run(session.calls.drop_gap(line), "Taking a line out", draw_dropped_gap)
    if again:
        session.run(session.calls.check_gaps(), "Asking again", draw_gap_check)
    if not drop:
        session.run(session.calls.gaps(limit=limit), "Reading the worklist", draw_gaps)
        due = session.send(session.calls.reviews(due=True, limit=1), "Reading review dates").value.due
        if due:
            are = "is" if due == 1 else "are"
            session.err.print(f"{plural(due, 'edit')} {are} due to be looked at: errata reviews")


def find_gap(session: Session, question: str) -> Gap | None:
    """Return the line of the worklist that digits name; None for a question in words."""
    if not (question.isascii() and question.isdecimal()):
        return None
    return session.send(session.calls.gap(int(question)), "Reading the worklist").value


def close_gap(session: Session, gap: Gap) -> None:
    """Take out a line that was answered, unless another curator was faster."""
    with suppress(NotFound):
        session.send(session.calls.drop_gap(gap.line), "Taking a line out")
    session.err.print(f"Line {gap.line} of the worklist is answered.")
