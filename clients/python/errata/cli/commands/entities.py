"""`errata entities` and `errata entity`: the entities of the knowledge graph, and the facts about one."""

from __future__ import annotations

from typing import Annotated

import typer

from errata.cli.options import At
from errata.cli.render.lookup import draw_entity, draw_entity_list
from errata.cli.session import Session
from errata.cli.streams import Exit
from errata.errors import NotFound


def entities(
    session: Session,
    words: Annotated[list[str], typer.Argument(metavar="TEXT", help="A name, or how it begins.")],
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="How many.")] = 20,
    at: At = None,
) -> None:
    """Find entities by name."""
    call = session.calls.entities(" ".join(words), limit=limit, version=at)
    session.show(session.send(call, "Looking in the graph"), draw_entity_list)


def entity(
    session: Session,
    words: Annotated[list[str], typer.Argument(metavar="ID|NAME", help="The entity's id, or its name.")],
    at: At = None,
) -> None:
    """Show one entity: its names, its facts with the versions since which they hold, and removed facts."""
    name = " ".join(words)
    try:
        reply = session.send(session.calls.entity(name, version=at), "Looking in the graph")
    except NotFound:
        id = find_id(session, name, at)
        if id is None:
            raise
        reply = session.send(session.calls.entity(id, version=at), "Looking in the graph")
    session.show(reply, draw_entity)


def find_id(session: Session, name: str, at: int | None) -> str | None:
    """Return the id of the one entity of a name; None where no name begins so. Otherwise list them, and end."""
    reply = session.send(session.calls.entities(name, version=at), "Looking for the name")
    ids = [
        entity.id
        for entity in reply.value.entities
        if name.casefold() in (label.casefold() for label in (entity.label, *entity.aliases))
    ]
    if len(ids) == 1:
        return ids[0]
    if not reply.value.entities:
        return None
    session.show(reply, draw_entity_list)
    session.err.print("Say which one is meant: `errata entity ID`.", soft_wrap=True)
    raise typer.Exit(Exit.REFUSED)
