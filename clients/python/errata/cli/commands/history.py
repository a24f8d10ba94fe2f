"""`errata log`, `show` and `diff`: what was changed, when, by whom and why."""

from __future__ import annotations

from typing import Annotated

import typer

from errata.cli.commands.tags import newest, version_of
from errata.cli.render.commits import draw_commit, draw_diff, draw_log
from errata.cli.render.text import now
from errata.cli.session import Session


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
        str | None, typer.Argument(help="The version to look at, or its tag; the newest if left out.")
    ] = None,
) -> None:
    """Show one version: its edits, what they changed, what was written."""
    wanted = newest(here) if version is None else version_of(here, version)
    here.show(here.send(here.calls.show(wanted), f"Reading version {wanted}"), draw_commit)


def diff(
    here: Session,
    from_version: Annotated[str, typer.Argument(metavar="FROM", help="The older version, or its tag.")],
    to_version: Annotated[
        str | None,
        typer.Argument(metavar="TO", help="The newer one, or its tag; the newest there is if left out."),
    ] = None,
) -> None:
    """Show which questions two versions answer differently."""
    older = version_of(here, from_version)
    to = newest(here) if to_version is None else version_of(here, to_version)
    here.show(here.send(here.calls.diff(older, to), f"Comparing {older} and {to}"), draw_diff)
