"""`errata scope` and `why`: which edit a question asks for, and who made it."""

from __future__ import annotations

from typing import Annotated

import typer

from errata.cli.render.scope import draw_scope, draw_why
from errata.cli.session import Session

Question = Annotated[str, typer.Argument(help="The question, in quotes.")]
Model = Annotated[
    str | None, typer.Option(help="Which system answers; by default the one that the service chose.")
]


def scope(session: Session, question: Question, model: Model = None) -> None:
    """Show the edits that a question resembles, and why each does or does not answer it."""
    reply = session.send(session.calls.scope(question, model=model), "Comparing with the edits")
    session.show(reply, draw_scope)


def why(session: Session, question: Question, model: Model = None) -> None:
    """Tell what answers a question: which edit or fact, who made it, when and why, and what would answer without it."""
    session.show(session.send(session.calls.why(question, model=model), "Asking"), draw_why)
