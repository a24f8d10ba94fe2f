"""`errata check`, `replicas`, `models`, `memory` and `whoami`: how things stand now."""

from __future__ import annotations

from typing import Annotated

import typer

from errata.cli.errors import Exit
from errata.cli.render.status import draw_check, draw_memory, draw_models, draw_replicas, draw_whoami
from errata.cli.session import Session


def check(
    here: Session,
    last: Annotated[bool, typer.Option("--last", help="Show the last run; do not run them again.")] = False,
    superseded: Annotated[
        bool, typer.Option("--superseded", help="List those, too, that a later edit answers anew.")
    ] = False,
) -> None:
    """Re-run the fact tests of all edits: does every correction still hold?"""
    call = here.calls.last_check(superseded) if last else here.calls.check(superseded)
    reply = here.send(call, "Re-running the fact tests")
    here.show(reply, draw_check)
    if reply.value.broken or reply.value.damaged_imports:
        raise typer.Exit(Exit.BROKEN)


def replicas(here: Session) -> None:
    """Show which version each replica has."""
    here.show(here.send(here.calls.replicas(), "Asking the replicas"), draw_replicas)


def models(here: Session) -> None:
    """List the models that answer."""
    here.show(here.send(here.calls.models(), "Asking for the models"), draw_models)


def memory(here: Session) -> None:
    """Show the version and the checksum of each memory."""
    here.show(here.send(here.calls.memory(), "Reading the memory's state"), draw_memory)


def whoami(here: Session) -> None:
    """Show what the key you use may do."""
    here.show(here.send(here.calls.whoami(), "Asking who you are"), draw_whoami)
