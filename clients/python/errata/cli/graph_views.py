"""Entities as tables: several with what tells them apart, or one with all that the graph says of it."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from errata.cli.words import one_line, plural
from errata.wire import EntityFact, EntityHead, EntityList, EntityState, RemovedFact

MOST_ALIASES = 3


def draw_list(listed: EntityList) -> RenderableType:
    if not listed.entities:
        return Text(f"No entity is called so at version {listed.version}.", style="yellow")
    return draw_entities(listed.entities)


def draw_entities(found: Sequence[EntityHead]) -> RenderableType:
    """Only the columns that say something."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("id", style="cyan", overflow="fold")
    table.add_column("name", overflow="fold")
    table.add_column("facts", justify="right")
    with_aliases, with_words = any(one.aliases for one in found), any(one.description for one in found)
    if with_aliases:
        table.add_column("also called")
    if with_words:
        table.add_column("what it is")
    for one in found:
        more = [_aliases(one.aliases)] if with_aliases else []
        more += [one_line(one.description)] if with_words else []
        table.add_row(one.id, one_line(one.label), f"{one.degree:,}", *more)
    return table


def _aliases(aliases: Sequence[str]) -> str:
    shown = ", ".join(map(one_line, aliases[:MOST_ALIASES]))
    return f"{shown}, …" if len(aliases) > MOST_ALIASES else shown


def draw_entity(entity: EntityState) -> RenderableType:
    parts: list[RenderableType] = [
        Text.assemble((one_line(entity.label), "bold"), (f"  {entity.id}", "cyan"))
    ]
    if entity.aliases:
        parts.append(Text.assemble(("also called ", "dim"), ", ".join(map(one_line, entity.aliases))))
    if entity.description:
        parts.append(Text(entity.description))
    count = plural(len(entity.facts), "fact") if entity.facts else "no facts"
    parts += [Text(f"{count} at version {entity.version}", style="dim"), Text()]
    parts.append(_facts(entity.facts))
    if entity.removed_facts:
        parts += [Text("\nNot said any more", style="dim"), _facts(entity.removed_facts)]
    return Group(*parts)


def _facts(facts: Sequence[EntityFact]) -> RenderableType:
    """A relation with several values is named once."""
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(style="dim")
    table.add_column()
    table.add_column(style="cyan", overflow="fold")
    table.add_column(style="dim")
    before = ""
    for one in facts:
        name = _relation(one)
        table.add_row("" if name == before else name, one_line(one.object), one.object_id, _time(one))
        before = name
    return Padding.indent(table, 2)


def _relation(one: EntityFact) -> str:
    """What people call it, and the name by which it is edited."""
    label, name = one_line(one.label), one_line(one.relation)
    return name if label in ("", name) else f"{label} ({name})"


def _time(one: EntityFact) -> str:
    since = f"since version {one.added_in}" if one.added_in else "from the base"
    if isinstance(one, RemovedFact):
        since = f"{since}, removed in version {one.removed_in}"
    return f"{since} · {one.edit}" if one.edit else since
