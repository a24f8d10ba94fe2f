"""`errata log`, `show` and `diff`: what was changed, when, by whom and why."""

from __future__ import annotations

from typing import Annotated

import typer

from errata.cli.commits import draw_commit, draw_diff, draw_log
from errata.cli.session import Session
from errata.cli.words import now


def log(
    here: Session,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="How many versions.")] = 20,
    before: Annotated[
        int | None, typer.Option("--before", metavar="VERSION", help="Only versions older than this one.")
    ] = None,
) -> None:
    """List the versions, newest first."""
    reply = here.send(here.calls.log(limit=limit, before=before), "Reading the log")
    here.show(reply, lambda log: draw_log(log, now()))


def show(
    here: Session,
    version: Annotated[
        int | None, typer.Argument(min=1, help="The version to look at; the newest if left out.")
    ] = None,
) -> None:
    """Show one version: its edits, what they changed, what was written."""
    wanted = _newest(here) if version is None else version
    here.show(here.send(here.calls.show(wanted), f"Reading version {wanted}"), draw_commit)


def diff(
    here: Session,
    from_version: Annotated[int, typer.Argument(metavar="FROM", min=0, help="The older version.")],
    to_version: Annotated[
        int | None,
        typer.Argument(metavar="TO", min=0, help="The newer one; the newest there is if left out."),
    ] = None,
) -> None:
    """Show which questions two versions answer differently."""
    to = _newest(here) if to_version is None else to_version
    here.show(here.send(here.calls.diff(from_version, to), f"Comparing {from_version} and {to}"), draw_diff)


def _newest(here: Session) -> int:
    return here.send(here.calls.log(limit=1), "Looking for the newest version").value.head
