"""Work that waits for a person: `errata gaps`, `reviews` and `proposals`."""

from __future__ import annotations

from datetime import date
from typing import Annotated

import typer

from errata.cli.commands.gaps import LIMIT
from errata.cli.options import Review, parse_day
from errata.cli.render.worklist import (
    draw_decision,
    draw_proposal,
    draw_proposals,
    draw_review,
    draw_reviews,
)
from errata.cli.session import Session
from errata.cli.write import require_success
from errata.request import build
from errata.wire import EditItem, FactItem, Item

Number = Annotated[int, typer.Argument(min=1, help="The number of the proposal.")]

NEVER = "never"


def propose(
    session: Session,
    words: list[str],
    message: str = "",
    also: list[str] | None = None,
    review: Review = None,
) -> None:
    """Propose a correction or a fact: it is not live until another person approves it.

    Args:
        words (QUESTION ANSWER | SUBJECT RELATION OBJECT): The right answer, or the right fact.
        also: The question in other words; may be repeated.
    """
    call = session.calls.propose([_to_item(words, also)], message=message, review=review)
    session.run(call, "Proposing", draw_proposal)


def proposals(
    session: Session, number: Annotated[int | None, typer.Argument(min=1)] = None, all: bool = False
) -> None:
    """List what waits for approval, or show one proposal with its effect now.

    Args:
        number: Show this one, with its effect now.
        all: Also those that are decided or have expired.
    """
    if number is None:
        session.run(session.calls.proposals("all" if all else "open"), "Reading proposals", draw_proposals)
        return
    proposal = session.run(session.calls.proposal(number), "Trying it out", draw_proposal)
    if proposal.report is not None:
        require_success(proposal.report)


def approve(session: Session, number: Number, expect: int | None = None) -> None:
    """Make a proposal of another person live.

    Args:
        expect: Approve only if this is the newest version.
    """
    session.run(session.calls.approve(number, expected_version=expect), "Editing", draw_decision)


def reject(session: Session, number: Number, reason: Annotated[str, typer.Argument()] = "") -> None:
    """Decide that a proposal will not be made.

    Args:
        reason: Why, for its author.
    """
    session.run(session.calls.reject(number, reason), "Rejecting", draw_decision)


def _to_item(words: list[str], also: list[str] | None) -> Item:
    if len(words) == 2:
        return build(EditItem, question=words[0], answer=words[1], paraphrases=also or [])
    if len(words) == 3 and not also:
        return build(FactItem, subject=words[0], relation=words[1], object=words[2])
    raise typer.BadParameter("give a question and its answer, or subject, relation and object")


def parse_day_or_never(text: str) -> date | str:
    return NEVER if text == NEVER else parse_day(text)


def reviews(
    session: Session, limit: Annotated[int, typer.Option(min=1, max=1_000)] = LIMIT, all: bool = False
) -> None:
    """List the edits that are to be looked at again, the earliest first; --review of an edit sets its day.

    Args:
        limit: How many edits.
        all: Also those whose day has not come.
    """
    session.run(session.calls.reviews(due=not all, limit=limit), "Reading review dates", draw_reviews)


def review(
    session: Session, edit: str, day: Annotated[str, typer.Argument(parser=parse_day_or_never)]
) -> None:
    """Say that an edit still holds, and on which day it is looked at again.

    Args:
        edit (EDIT): The id of the edit, as `errata reviews` lists it.
        day (DAY): The day to look at it again, or `never` to look no more.
    """
    on = day if isinstance(day, date) else None
    session.run(session.calls.review(edit, on), "Setting the day", draw_review)
