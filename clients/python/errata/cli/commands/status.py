"""`errata check`, `replicas`, `models` and `memory`: how things are now."""

from __future__ import annotations

from typing import Annotated

import typer

from errata.cli.render.status import draw_check, draw_memory, draw_models, draw_replicas
from errata.cli.session import Session
from errata.cli.streams import Exit


def check(
    session: Session,
    last: Annotated[bool, typer.Option("--last", help="Show the last check; do not ask again.")] = False,
    list_replaced: Annotated[
        bool, typer.Option("--replaced", help="List the questions, too, that a later edit was to answer.")
    ] = False,
) -> None:
    """Ask the questions of all edits, and the tests that came with them: does every correction still hold?"""
    call = session.calls.last_check(list_replaced) if last else session.calls.check(list_replaced)
    reply = session.send(call, "Asking the questions of all edits")
    session.show(reply, draw_check)
    report = reply.value
    faults = report.broken, report.overwritten, report.failing_tests, report.other_answers
    if any(faults) or report.damaged_imports:
        raise typer.Exit(Exit.BROKEN)


def replicas(session: Session) -> None:
    """Show which version each replica has."""
    session.show(session.send(session.calls.replicas(), "Asking the replicas"), draw_replicas)


def models(session: Session) -> None:
    """List the models that answer."""
    session.show(session.send(session.calls.models(), "Asking for the models"), draw_models)


def memory(session: Session) -> None:
    """Show the version and the checksum of each memory."""
    session.show(session.send(session.calls.memory(), "Reading the memory's state"), draw_memory)
