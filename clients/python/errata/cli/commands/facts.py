"""`errata fact` and `errata relation`: correct a triple, and say what a relation is."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Literal

import typer

from errata.cli.options import Write
from errata.cli.receipts import make
from errata.cli.session import Session, is_terminal
from errata.errors import AddOrSet
from errata.wire import Act


def fact(
    session: Session,
    subject: Annotated[str, typer.Argument(help="What it is about: a name, or an id.")],
    relation: Annotated[str, typer.Argument(help="Its relation; label, alias and description are names.")],
    object: Annotated[str, typer.Argument(help="The value.")],
    put: Annotated[bool, typer.Option("--set", help="In place of all other values.")] = False,
    add: Annotated[bool, typer.Option("--add", help="Beside the other values.")] = False,
    remove: Annotated[bool, typer.Option("--remove", help="Take this value away.")] = False,
    only: Annotated[
        Literal["graph"] | None,
        typer.Option(help="Change no system but those that read the graph."),
    ] = None,
    create: Annotated[
        bool, typer.Option("--create", help="Make a new name though it is one letter away from one in use.")
    ] = False,
    write: Write = Write(),
) -> None:
    """Correct a fact for every system: `errata fact Peru capital Cusco`."""
    act = choose_act({"set": put, "add": add, "remove": remove})
    title, fact = "Telling every system", partial(session.calls.fact, subject, relation, object)
    fact = partial(fact, only=only, create=create, **write.of_edit)
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
    name: Annotated[str, typer.Argument(help="The relation's name in the graph.")],
    holds: Annotated[
        Literal["one", "many"] | None, typer.Option(help="How many values one subject has.")
    ] = None,
    label: Annotated[str | None, typer.Option(help="How people call it; this is what a model reads.")] = None,
    write: Write = Write(),
) -> None:
    """Say what a relation is: `errata relation capital --holds one`."""
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
