"""`errata scope` and `why`: which edit a question asks for, and who made it."""

from __future__ import annotations

from typing import Annotated

import typer

from errata.cli.options import AtOrTag
from errata.cli.render.scope import draw_scope, draw_why
from errata.cli.session import Session

Question = Annotated[str, typer.Argument(help="The question, in quotes.")]
Model = Annotated[
    str | None, typer.Option(help="Which system answers; by default the one that the service chose.")
]


def scope(session: Session, question: Question, model: Model = None, at: AtOrTag = None) -> None:
    """Show the edits that a question resembles, and why each does or does not answer it."""
    version = None if at is None else session.resolve_version(at)
    call = session.calls.scope(question, model=model, version=version)
    session.show(session.send(call, "Comparing with the edits"), draw_scope)


def why(session: Session, question: Question, model: Model = None, at: AtOrTag = None) -> None:
    """Tell what answers a question: which edit or fact, who made it, when and why, and what would answer without it."""
    version = None if at is None else session.resolve_version(at)
    call = session.calls.why(question, model=model, version=version)
    session.show(session.send(call, "Asking"), draw_why)
