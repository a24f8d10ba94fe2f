"""`errata tag`, `untag` and `tags`: names for versions, and how a command finds the version behind one."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Annotated

import typer
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from errata.cli.render.text import ago, now
from errata.cli.session import Session
from errata.wire import Tag, TagList
from errata.wire.tags import TAG

Name = Annotated[str, typer.Argument(help="The name: a letter, then letters, digits and . _ + -")]


def tags(here: Session) -> None:
    """List the names that versions have."""
    here.show(here.send(here.calls.tags(), "Reading the tags"), lambda listed: _draw(listed, now()))


def tag(
    here: Session,
    name: Name,
    version: Annotated[
        int | None, typer.Argument(min=0, help="The version; the newest there is if left out.")
    ] = None,
) -> None:
    """Give a version a name, or move the name to it."""
    to = newest(here) if version is None else version
    here.show(here.send(here.calls.tag(name, to), f"Tagging version {to}"), _stands)


def untag(here: Session, name: Name) -> None:
    """Take a name away; its version stays."""
    here.show(
        here.send(here.calls.untag(name), "Taking the tag away"),
        lambda gone: Text(f"{gone.name} is no tag any more; it was version {gone.version}."),
    )


def version_of(here: Session, text: str) -> int:
    """A version as a command takes it: its number, which may be none there is, or a tag."""
    if re.fullmatch(r"-?[0-9]{1,16}", text):
        return int(text)
    if not re.fullmatch(TAG, text):
        raise typer.BadParameter(f"{text!r} is no version: give a number or a tag")
    listed = here.send(here.calls.tags(), "Reading the tags").value.tags
    found = next((one.version for one in listed if one.name == text), None)
    if found is None:
        raise typer.BadParameter(
            f"{text!r} is no version and no tag: `errata log` and `errata tags` list them"
        )
    return found


def newest(here: Session) -> int:
    return here.send(here.calls.log(limit=1), "Looking for the newest version").value.head


def _stands(one: Tag) -> RenderableType:
    return Text(f"{one.name} is version {one.version}.")


def _draw(listed: TagList, at: datetime) -> RenderableType:
    if not listed.tags:
        return Text("No version has a name. Give one: errata tag NAME VERSION", style="dim")
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("tag", style="cyan")
    table.add_column("version", justify="right", style="yellow")
    for title in ("when", "who"):
        table.add_column(title)
    for one in listed.tags:
        table.add_row(one.name, str(one.version), ago(one.time, at), one.by)
    return table
