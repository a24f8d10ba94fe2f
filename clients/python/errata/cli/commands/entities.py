"""`errata entities` and `errata entity`: what the knowledge graph holds, and says of one thing."""

from __future__ import annotations

from typing import Annotated

import typer

from errata.cli.errors import Exit
from errata.cli.options import At
from errata.cli.render.graph import draw_entity, draw_list
from errata.cli.session import Session
from errata.errors import NotFound
from errata.request import Reply
from errata.wire import EntityHead, EntityState


def entities(
    here: Session,
    words: Annotated[list[str], typer.Argument(metavar="TEXT", help="A name, or how it begins.")],
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="How many.")] = 20,
    at: At = None,
) -> None:
    """Find entities by name."""
    call = here.calls.entities(" ".join(words), limit=limit, version=at)
    here.show(here.send(call, "Looking in the graph"), draw_list)


def entity(
    here: Session,
    words: Annotated[list[str], typer.Argument(metavar="ID|NAME", help="The entity's id, or its name.")],
    at: At = None,
) -> None:
    """Show one entity: its names, its facts and since when they hold, and what was removed."""
    name = " ".join(words)
    try:
        reply = _state(here, name, at)
    except NotFound:
        id = _id_of(here, name, at)
        if id is None:
            raise
        reply = _state(here, id, at)
    here.show(reply, draw_entity)


def _state(here: Session, id: str, at: int | None) -> Reply[EntityState]:
    return here.send(here.calls.entity(id, version=at), "Looking in the graph")


def _id_of(here: Session, name: str, at: int | None) -> str | None:
    """Of the one entity that is called so, None where no name even begins so; else a list, and the end."""
    listed = here.send(here.calls.entities(name, version=at), "Looking for the name")
    called = [one for one in listed.value.entities if _is_called(one, name)]
    if len(called) == 1:
        return called[0].id
    if not listed.value.entities:
        return None
    here.show(listed, draw_list)
    here.err.print("Say which one is meant: `errata entity ID`.", soft_wrap=True)
    raise typer.Exit(Exit.REFUSED)


def _is_called(one: EntityHead, name: str) -> bool:
    return name.casefold() in (other.casefold() for other in (one.label, *one.aliases))
