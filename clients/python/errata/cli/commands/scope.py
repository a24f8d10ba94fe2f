"""`errata scope` and `why`: which edit a question asks for, and who made it."""

from __future__ import annotations

from typing import Annotated

import typer

from errata.cli.render.scope import draw_reason, draw_scope
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
    """Tell which edit answers a question: who made it, when, with which message, and which wording matched."""
    answer = session.send(session.calls.ask(question, model=model), "Asking").value
    edits = [session.send(session.calls.show_edit(id), f"Reading edit {id}") for id in answer.edits]
    candidates = {}
    if any(edit.value.edit.question and edit.value.edit.method == "gated" for edit in edits):
        report = session.send(session.calls.scope(question, model=answer.model), "Comparing").value
        candidates = {
            candidate.edit: candidate for candidate in report.candidates if candidate.verdict == "answers"
        }
    if session.as_json:
        typer.echo(b"[" + b",".join(edit.raw for edit in edits) + b"]")
    else:
        session.out.print(draw_reason(answer, [edit.value for edit in edits], candidates))
