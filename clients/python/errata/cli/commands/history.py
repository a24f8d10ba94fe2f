"""`errata log`, `show`, `diff` and `tags`: the changes, when they were made, by whom and why, and their names."""

from __future__ import annotations

import re
import shlex
from datetime import datetime
from functools import partial
from typing import Annotated

import typer
from rich.text import Text

from errata.cli.options import TIMES, Verbose, parse_time
from errata.cli.render.commits import draw_commit, draw_diff, draw_log, draw_tags
from errata.cli.render.scope import draw_edit
from errata.cli.session import Session
from errata.errors import NotFound

LIMIT = 20
Name = Annotated[str, typer.Argument(help="The name: a letter, then letters, digits and . _ + -")]
EDIT_ID = re.compile(r"[0-9a-f]{12}")


def log(
    session: Session,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="How many versions.")] = LIMIT,
    before: Annotated[
        int | None, typer.Option(metavar="VERSION", help="Only versions older than this one.")
    ] = None,
    grep: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT", help="Only versions whose message, questions, answers or facts have this text."
        ),
    ] = None,
    author: Annotated[str | None, typer.Option(metavar="NAME", help="Only versions that NAME made.")] = None,
    since: Annotated[
        datetime | None,
        typer.Option(
            parser=parse_time, metavar="TIME", help=f"Only versions made from this local time on: {TIMES}."
        ),
    ] = None,
) -> None:
    """List the versions, newest first."""
    call = session.calls.log(limit=limit, before=before, grep=grep, author=author, since=since)
    reply = session.send(call, "Reading the log")
    options = [] if limit == LIMIT else ["--limit", str(limit)]
    filters = {"--grep": grep, "--author": author, "--since": since and since.isoformat(timespec="seconds")}
    is_filtered = any(value is not None for value in filters.values())
    for option, value in filters.items():
        options += [] if value is None else [option, str(value)]
    session.show(reply, partial(draw_log, limit=limit, options=shlex.join(options), is_filtered=is_filtered))


def show(
    session: Session,
    version: Annotated[
        str | None,
        typer.Argument(help="The version to look at, its tag, or the id of an edit; the newest if left out."),
    ] = None,
    verbose: Verbose = False,
) -> None:
    """Show one version: its edits, the edits that they replaced, and what changed besides."""
    if version is not None and EDIT_ID.fullmatch(version):
        try:
            session.show(session.send(session.calls.show_edit(version), f"Reading edit {version}"), draw_edit)
            return
        except NotFound:  # a tag may look like an id
            if session.find_tag(version) is None:
                raise
    number = session.newest_version() if version is None else session.resolve_version(version)
    reply = session.send(session.calls.show(number), f"Reading version {number}")
    session.show(reply, partial(draw_commit, verbose=verbose))


def diff(
    session: Session,
    from_version: Annotated[str, typer.Argument(metavar="FROM", help="The older version, or its tag.")],
    to_version: Annotated[
        str | None,
        typer.Argument(metavar="TO", help="The newer one, or its tag; the newest there is if left out."),
    ] = None,
    verbose: Verbose = False,
) -> None:
    """Show which questions two versions answer differently."""
    older = session.resolve_version(from_version)
    newer = session.newest_version() if to_version is None else session.resolve_version(to_version)
    reply = session.send(session.calls.diff(older, newer), f"Comparing {older} and {newer}")
    session.show(reply, partial(draw_diff, verbose=verbose))


def tags(session: Session) -> None:
    """List the names that versions have."""
    reply = session.send(session.calls.tags(), "Reading the tags")
    session.show(reply, draw_tags)


def tag(
    session: Session,
    name: Name,
    version: Annotated[
        int | None, typer.Argument(min=0, help="The version; the newest there is if left out.")
    ] = None,
) -> None:
    """Give a version a name, or move the name to it."""
    number = session.newest_version() if version is None else version
    reply = session.send(session.calls.tag(name, number), f"Tagging version {number}")
    session.show(reply, lambda tag: Text(f"{tag.name} is version {tag.version}."))


def untag(session: Session, name: Name) -> None:
    """Take a name away; its version stays."""
    reply = session.send(session.calls.untag(name), "Taking the tag away")
    session.show(reply, lambda tag: Text(f"{tag.name} is no tag any more; it was version {tag.version}."))
