"""`errata tag`, `untag` and `tags`: names for versions."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.text import Text

from errata.cli.render.commits import draw_tags
from errata.cli.session import Session

Name = Annotated[str, typer.Argument(help="The name: a letter, then letters, digits and . _ + -")]


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
