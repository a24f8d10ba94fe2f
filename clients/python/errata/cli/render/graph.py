"""The graph as tables: several entities, one with all that is said of it, and what an import brought."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from errata.cli.render.effects import draw_report
from errata.cli.render.receipt import draw_replication, draw_warnings
from errata.cli.render.text import make_grid, make_table, one_line, plural, seconds
from errata.wire import (
    EntityFact,
    EntityHead,
    EntityList,
    EntityState,
    ImportCounts,
    ImportReceipt,
    RemovedFact,
)

MAX_ALIASES = 3
MAX_REJECTED_LINES = 20


def draw_entity_list(page: EntityList) -> RenderableType:
    if not page.entities:
        return Text(f"No entity is called so at version {page.version}.", style="yellow")
    return draw_entities(page.entities)


def draw_entities(entities: Sequence[EntityHead]) -> RenderableType:
    """Only the columns that say something."""
    has_aliases = any(entity.aliases for entity in entities)
    has_descriptions = any(entity.description for entity in entities)
    titles = ["also called"] * has_aliases + ["what it is"] * has_descriptions
    table = make_table("id", "name", ">facts", *titles)
    for column in table.columns[:2]:
        column.overflow = "fold"
    table.columns[0].style = "cyan"
    for entity in entities:
        aliases = ", ".join(map(one_line, entity.aliases[:MAX_ALIASES]))
        aliases += ", …" if len(entity.aliases) > MAX_ALIASES else ""
        cells = [aliases] * has_aliases + [one_line(entity.description)] * has_descriptions
        table.add_row(entity.id, one_line(entity.label), f"{entity.degree:,}", *cells)
    return table


def draw_entity(entity: EntityState) -> RenderableType:
    parts: list[RenderableType] = [
        Text.assemble((one_line(entity.label), "bold"), (f"  {entity.id}", "cyan"))
    ]
    if entity.aliases:
        parts.append(Text.assemble(("also called ", "dim"), ", ".join(map(one_line, entity.aliases))))
    if entity.description:
        parts.append(Text(entity.description))
    count = plural(len(entity.facts), "fact") if entity.facts else "no facts"
    parts += [Text(f"{count} at version {entity.version}", style="dim"), Text(), _draw_facts(entity.facts)]
    if entity.removed_facts:
        parts += [Text("\nNot said any more", style="dim"), _draw_facts(entity.removed_facts)]
    return Group(*parts)


def _draw_facts(facts: Sequence[EntityFact]) -> RenderableType:
    """A relation with several values is named once: what people call it, and the name by which it is edited."""
    table = make_grid()
    for style in ("dim", "", "cyan", "dim"):
        table.add_column(style=style, overflow="fold" if style == "cyan" else "ellipsis")
    previous = ""
    for fact in facts:
        label, name = one_line(fact.label), one_line(fact.relation)
        title = name if label in ("", name) else f"{label} ({name})"
        since = f"since version {fact.added_in}" if fact.added_in else "from the base"
        if isinstance(fact, RemovedFact):
            since = f"{since}, removed in version {fact.removed_in}"
        origin = f"{since} · {fact.edit}" if fact.edit else since
        table.add_row("" if title == previous else title, one_line(fact.object), fact.object_id, origin)
        previous = title
    return Padding.indent(table, 2)


def draw_import(receipt: ImportReceipt) -> RenderableType:
    """How much the graph has grown, how long it took, and which lines could not be used."""
    counts = receipt.counts
    triples = plural(counts.triples, "triple")
    if receipt.version is None:
        headline = Text(f"Dry run: {triples} would be imported; nothing was changed.", style="bold")
    else:
        headline = Text(f"Version {receipt.version}: {triples} imported.", style="bold green")
    table = make_grid(indent=2)
    table.add_column(style="dim")
    table.add_row("triples", f"{counts.triples:,} from {plural(counts.lines, 'line')} of {counts.format}")
    table.add_row("entities", f"{counts.entities:,}, of which {counts.new_entities:,} are new")
    if counts.skipped:
        table.add_row("left out", _join_reasons(counts.skipped))
    rate = f", {counts.triples / counts.seconds:,.0f} triples per s" if counts.seconds > 0 else ""
    table.add_row("time", f"{seconds(counts.seconds)}{rate}")
    parts: list[RenderableType] = [Text.assemble(headline, draw_replication(receipt)), table]
    parts += _draw_rejected(counts) if counts.rejected else []
    parts += [warning for edit in receipt.report.edits for warning in draw_warnings(edit)]
    parts += draw_report(receipt.report)
    if receipt.version is not None:
        parts.append(Text(f"Take it back: errata revert {receipt.version}", style="dim"))
    return Group(*parts)


def _draw_rejected(counts: ImportCounts) -> list[RenderableType]:
    verb = "was" if counts.rejected == 1 else "were"
    reasons = f": {_join_reasons(counts.rejected_by)}" if counts.rejected_by else ""
    parts: list[RenderableType] = [
        Text(f"{plural(counts.rejected, 'line')} {verb} rejected{reasons}", style="yellow")
    ]
    if counts.rejected_lines:
        table = make_table(">line", "why it was rejected", indent=2)
        for line in counts.rejected_lines[:MAX_REJECTED_LINES]:
            table.add_row(f"{line.line:,}", one_line(line.reason or line.code))
        parts.append(table)
    n_listed = len(counts.rejected_lines)
    n_more = counts.rejected - min(n_listed, MAX_REJECTED_LINES)
    if n_more > 0:
        advice = f"; --rejected FILE writes the first {n_listed:,}" if n_listed > MAX_REJECTED_LINES else ""
        parts.append(Text(f"  and {n_more:,} more{advice}", style="dim"))
    return parts


def _join_reasons(reasons: Mapping[str, int]) -> str:
    """Most frequent first."""
    pairs = sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{one_line(reason).replace('_', ' ')} {count:,}" for reason, count in pairs)


def format_rejected(counts: ImportCounts) -> str:
    """The rejected lines as TSV with a header line; what would break a line stands as a space."""
    rows = [("line", "code", "reason")]
    rows += [(str(line.line), line.code, line.reason) for line in counts.rejected_lines]
    return "".join("\t".join(map(one_line, row)) + "\n" for row in rows)
