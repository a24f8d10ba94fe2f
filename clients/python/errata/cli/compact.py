"""`errata compact`: which versions can be asked, and how the rows of old ones are dropped."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.text import Text

from errata.cli.session import Session
from errata.cli.words import megabytes, plural
from errata.wire import Compaction, Retained


def compact(
    here: Session,
    versions: Annotated[
        int | None, typer.Option("--versions", metavar="N", help="The newest N versions stay.")
    ] = None,
    days: Annotated[
        float | None, typer.Option("--days", metavar="N", help="What was the newest within N days stays.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count what would go.")] = False,
) -> None:
    """Drop the rows of old versions without a tag; commits stay. Without options: show which can be asked."""
    if versions is None and days is None:
        if dry_run:
            raise typer.BadParameter("say what stays: --versions, --days or both")
        here.show(here.send(here.calls.retained(), "Looking which versions there are"), _readable)
        return
    call = here.calls.compact(versions=versions, days=days, dry_run=dry_run)
    here.show(here.send(call, "Counting rows" if dry_run else "Dropping rows"), _done)


def _readable(state: Retained) -> Text:
    older = [str(version) for version in (0, *state.older) if version < state.oldest]
    since = f"{state.oldest} to {state.newest}" if state.newest > state.oldest else f"{state.newest}"
    if state.newest == 0 or (state.oldest <= 1 and not state.older):
        return Text(f"Every version can be asked: 0 to {state.newest}.")
    return Text(f"Versions that can be asked: {', '.join(older)} and {since}.")


def _done(made: Compaction) -> Text:
    would = "would be " if made.dry_run else ""
    what = f"{plural(made.rows, 'block')} of rows ({megabytes(made.bytes)})"
    if not made.versions and not made.rows:
        return Text("There is nothing to drop.").append("\n").append(_readable(made))
    dropped = f"{what} {would}dropped, and {plural(made.versions, 'version')} with them."
    return Text(dropped).append("\n").append(_readable(made))
