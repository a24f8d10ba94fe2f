"""`errata fact`, `relation`, `entities` and `entity`: triples of the knowledge graph, corrected and looked up."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Literal

import typer

from errata.cli.options import At
from errata.cli.render.graph import draw_entity, draw_entity_list
from errata.cli.session import Session, is_terminal
from errata.cli.streams import Exit
from errata.cli.write import Write, make
from errata.errors import AddOrSet, NotFound
from errata.wire import Act


def fact(
    session: Session,
    subject: str,
    relation: str,
    object: str,
    set_: bool = False,
    add: bool = False,
    remove: bool = False,
    only: Literal["graph"] | None = None,
    create: bool = False,
    from_: str = "",
    to: str = "",
    unit: str = "",
    write: Write = Write(),
) -> None:
    """Correct a fact for every system: `errata fact Peru capital Cusco`.

    Args:
        subject: What it is about: a name, or an id.
        relation: Its relation; label, alias and description are names.
        object: The value.
        set_: In place of all other values.
        add: Beside the other values.
        remove: Take this value away.
        only: Change no system but those that read the graph.
        create: Make a new name though it is one letter away from one in use.
        from_ (DATE): The first date at which it holds, as 1889 or 1889-03-31.
        to (DATE): The last date; what has ended is history.
        unit: The unit of a number, which is answered with it.
    """
    act = choose_act({"set": set_, "add": add, "remove": remove})
    title, fact = "Telling every system", partial(session.calls.fact, subject, relation, object)
    fact = partial(fact, only=only, create=create, begin=from_, end=to, unit=unit, **write.of_edit)
    try:
        make(session, fact(act=act), write, title, "1 fact")
    except AddOrSet as error:
        if session.as_json or not is_terminal():
            raise
        make(session, fact(act=ask_act(error.values, object)), write, title, "1 fact")


def ask_act(values: Sequence[str], object: str) -> Act:
    """Ask whether a value takes the place of those that the graph has."""
    is_replacing = typer.confirm(f"Put {object!r} in the place of {', '.join(map(repr, values))}?", err=True)
    if not is_replacing and not typer.confirm("Keep both?", err=True):
        raise typer.Abort
    return "set" if is_replacing else "add"


def relation(
    session: Session,
    name: str,
    holds: Literal["one", "many"] | None = None,
    label: str | None = None,
    write: Write = Write(),
) -> None:
    """Say what a relation is: `errata relation capital --holds one`.

    Args:
        name: The relation's name in the graph.
        holds: How many values one subject has.
        label: How people call it; this is what a model reads.
    """
    if holds is None and label is None:
        raise typer.BadParameter("say how many values it has with --holds, or how it is called with --label")
    call = session.calls.define_relation(name, holds=holds, label=label, **write.of_edit)
    make(session, call, write, "Defining the relation", "1 definition")


def choose_act(flags: dict[Act, bool]) -> Act | None:
    """Return the act of the flags. None leaves it to the relation: one value is set, one of many is added."""
    acts = [act for act, is_set in flags.items() if is_set]
    if len(acts) > 1:
        raise typer.BadParameter("give one of --set, --add and --remove, not several")
    return acts[0] if acts else None


def entities(
    session: Session,
    words: list[str],
    limit: Annotated[int, typer.Option(min=1)] = 20,
    at: At = None,
) -> None:
    """Find entities by name.

    Args:
        words (TEXT): A name, or how it begins.
        limit: How many.
    """
    call = session.calls.entities(" ".join(words), limit=limit, version=at)
    session.run(call, "Looking in the graph", draw_entity_list)


def entity(session: Session, words: list[str], at: At = None) -> None:
    """Show one entity: its names, its facts with the versions since which they hold, and removed facts.

    Args:
        words (ID|NAME): The entity's id, or its name.
    """
    name = " ".join(words)
    try:
        session.run(session.calls.entity(name, version=at), "Looking in the graph", draw_entity)
    except NotFound:
        id = find_id(session, name, at)
        if id is None:
            raise
        session.run(session.calls.entity(id, version=at), "Looking in the graph", draw_entity)


def find_id(session: Session, name: str, at: int | None) -> str | None:
    """Return the id of the one entity of a name; None where no name begins so. Otherwise list them, and end."""
    reply = session.send(session.calls.entities(name, version=at), "Looking for the name")
    if len(reply.value.bearers) == 1:
        return reply.value.bearers[0]
    if not reply.value.entities:
        return None
    session.show(reply, draw_entity_list)
    session.err.print("Say which one is meant: `errata entity ID`.", soft_wrap=True)
    raise typer.Exit(Exit.REFUSED)
