"""`errata reviews` and `review`: edits that a person looks at again on a day."""

from __future__ import annotations

from datetime import date
from typing import Annotated

import typer

from errata.cli.options import parse_day
from errata.cli.render.gaps import draw_review, draw_reviews
from errata.cli.session import Session

LIMIT = 20
NEVER = "never"

Limit = Annotated[int, typer.Option("--limit", "-n", min=1, max=1_000, help="How many edits.")]
All = Annotated[bool, typer.Option("--all", help="Also those whose day has not come.")]
EditName = Annotated[
    str, typer.Argument(metavar="EDIT", help="The id of the edit, as `errata reviews` lists it.")
]


def parse_day_or_never(text: str) -> date | str:
    return NEVER if text == NEVER else parse_day(text)


DayOrNever = Annotated[
    str,
    typer.Argument(
        metavar="DAY",
        parser=parse_day_or_never,
        help="The day to look at it again, or `never` to look no more.",
    ),
]


def reviews(session: Session, limit: Limit = LIMIT, all: All = False) -> None:
    """List the edits that are to be looked at again, the earliest first; --review of an edit sets its day."""
    reply = session.send(session.calls.reviews(due=not all, limit=limit), "Reading review dates")
    session.show(reply, draw_reviews)


def review(session: Session, edit: EditName, day: DayOrNever) -> None:
    """Say that an edit still holds, and on which day it is looked at again."""
    on = day if isinstance(day, date) else None
    session.show(session.send(session.calls.review(edit, on), "Setting the day"), draw_review)
