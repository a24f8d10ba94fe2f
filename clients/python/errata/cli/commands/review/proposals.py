"""`errata propose`, `proposals`, `approve` and `reject`: edits that one key makes and another approves."""

from __future__ import annotations

from typing import Annotated

import typer

from errata.cli.options import Message, Review
from errata.cli.receipts import require_success
from errata.cli.render.proposals import draw_decision, draw_proposal, draw_proposals
from errata.cli.session import Session
from errata.request import build
from errata.wire import EditItem, FactItem, Item

Words = Annotated[
    list[str], typer.Argument(metavar="QUESTION ANSWER | SUBJECT RELATION OBJECT", help="What is right.")
]
Also = Annotated[list[str] | None, typer.Option(help="The question in other words; may be repeated.")]
Number = Annotated[int, typer.Argument(min=1, help="The number of the proposal.")]
OptionalNumber = Annotated[int | None, typer.Argument(min=1, help="Show this one, with its effect now.")]
All = Annotated[bool, typer.Option("--all", help="Also those that are decided or have expired.")]
Reason = Annotated[str, typer.Argument(help="Why, for its author.")]
Expect = Annotated[int | None, typer.Option(help="Approve only if this is the newest version.")]


def propose(
    session: Session, words: Words, message: Message = "", also: Also = None, review: Review = None
) -> None:
    """Propose a correction or a fact: it is not live until another person approves it."""
    call = session.calls.propose([_to_item(words, also)], message=message, review=review)
    session.show(session.send(call, "Proposing"), draw_proposal)


def proposals(session: Session, number: OptionalNumber = None, all: All = False) -> None:
    """List what waits for approval, or show one proposal with its effect now."""
    if number is None:
        reply = session.send(session.calls.proposals("all" if all else "open"), "Reading proposals")
        session.show(reply, draw_proposals)
        return
    proposal = session.send(session.calls.proposal(number), "Trying it out")
    session.show(proposal, draw_proposal)
    if proposal.value.report is not None:
        require_success(proposal.value.report)


def approve(session: Session, number: Number, expect: Expect = None) -> None:
    """Make a proposal of another person live."""
    session.show(
        session.send(session.calls.approve(number, expected_version=expect), "Editing"), draw_decision
    )


def reject(session: Session, number: Number, reason: Reason = "") -> None:
    """Decide that a proposal will not be made."""
    session.show(session.send(session.calls.reject(number, reason), "Rejecting"), draw_decision)


def _to_item(words: list[str], also: list[str] | None) -> Item:
    if len(words) == 2:
        return build(EditItem, question=words[0], answer=words[1], paraphrases=also or [])
    if len(words) == 3 and not also:
        return build(FactItem, subject=words[0], relation=words[1], object=words[2])
    raise typer.BadParameter("give a question and its answer, or subject, relation and object")
