"""The graph as tables: several entities, one with all that is said of it, and what an import brought."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from errata.cli.render.effects import draw_report
from errata.cli.render.receipt import reach, warnings
from errata.cli.render.text import one_line, plural, seconds
from errata.wire import (
    EntityFact,
    EntityHead,
    EntityList,
    EntityState,
    ImportCounts,
    ImportReceipt,
    RemovedFact,
)

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


MOST_SHOWN = 20


def draw_import(receipt: ImportReceipt) -> RenderableType:
    done = receipt.counts
    parts: list[RenderableType] = [_headline(receipt), _counts(done), *_rejected(done)]
    parts += [warning for edit in receipt.report.edits for warning in warnings(edit)]
    parts += draw_report(receipt.report)
    if receipt.version is not None:
        parts.append(Text(f"Take it back: errata revert {receipt.version}", style="dim"))
    return Group(*parts)


def _headline(receipt: ImportReceipt) -> Text:
    triples = plural(receipt.counts.triples, "triple")
    if receipt.version is None:
        return Text(f"Dry run: {triples} would be imported; nothing was changed.", style="bold")
    done = Text(f"Version {receipt.version}: {triples} imported.", style="bold green")
    return Text.assemble(done, reach(receipt))


def _counts(done: ImportCounts) -> Table:
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 2))
    table.add_column(style="dim")
    table.add_column()
    table.add_row("triples", f"{done.triples:,} from {plural(done.lines, 'line')} of {done.format}")
    table.add_row("entities", f"{done.entities:,}, of which {done.new_entities:,} are new")
    if done.skipped:
        table.add_row("left out", _by(done.skipped))
    rate = f", {done.triples / done.seconds:,.0f} triples per s" if done.seconds > 0 else ""
    table.add_row("time", f"{seconds(done.seconds)}{rate}")
    return table


def _rejected(done: ImportCounts) -> list[RenderableType]:
    if not done.rejected:
        return []
    were = "was" if done.rejected == 1 else "were"
    by = f": {_by(done.rejected_by)}" if done.rejected_by else ""
    table = Table(box=None, padding=(0, 2, 0, 2), header_style="dim")
    table.add_column("line", justify="right")
    table.add_column("why it was rejected")
    for one in done.rejected_lines[:MOST_SHOWN]:
        table.add_row(f"{one.line:,}", one_line(one.reason or one.code))
    parts: list[RenderableType] = [
        Text(f"{plural(done.rejected, 'line')} {were} rejected{by}", style="yellow")
    ]
    return [*parts, *([table] if done.rejected_lines else []), *_more(done)]


def _more(done: ImportCounts) -> list[Text]:
    shown = min(len(done.rejected_lines), MOST_SHOWN)
    if done.rejected <= shown:
        return []
    listed = (
        f"; --rejected FILE writes the first {len(done.rejected_lines):,}"
        if len(done.rejected_lines) > shown
        else ""
    )
    return [Text(f"  and {done.rejected - shown:,} more{listed}", style="dim")]


def _by(reasons: Mapping[str, int]) -> str:
    """Most frequent first."""
    ordered = sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{one_line(reason).replace('_', ' ')} {count:,}" for reason, count in ordered)


def write_rejected(done: ImportCounts) -> str:
    """TSV with a header line; what would break a line stands as a space."""
    rows = [
        ("line", "code", "reason"),
        *((str(one.line), one.code, one.reason) for one in done.rejected_lines),
    ]
    return "".join("\t".join(map(one_line, row)) + "\n" for row in rows)
