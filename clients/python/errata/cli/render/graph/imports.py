"""The receipt of an import into the graph, and the lines that it rejected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from errata.cli.render.effects import draw_replaced, draw_side_effects
from errata.cli.render.receipt import draw_replication
from errata.cli.render.text import make_grid, make_table, one_line, plural, seconds
from errata.cli.render.warnings import summarize_warnings
from errata.wire import ImportCounts, ImportedTriple, ImportReceipt

MAX_REJECTED_LINES = 20
MAX_EFFECTS = 40  # triples with an effect on other values that are shown


def draw_import(receipt: ImportReceipt, verbose: bool = False) -> RenderableType:
    """Draw what an import replaced, how much the graph has grown, and which lines could not be used.

    Args:
        verbose: Whether to add how long it took.
    """
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
    if verbose:
        rate = f", {counts.triples / counts.seconds:,.0f} triples per s" if counts.seconds > 0 else ""
        table.add_row("time", f"{seconds(counts.seconds)}{rate}")
    report = receipt.report
    parts: list[RenderableType] = [Text.assemble(headline, draw_replication(receipt))]
    parts += [*draw_replaced(report), table, *draw_triples(counts.rows, counts.triples)]
    parts += _draw_rejected(counts) if counts.rejected else []
    parts += draw_side_effects(report)
    parts += summarize_warnings(("", warning) for edit in report.edits for warning in edit.warnings)
    if receipt.version is not None:
        parts.append(Text(f"Take it back: errata revert {receipt.version}", style="dim"))
    return Group(*parts)


def draw_triples(rows: Sequence[ImportedTriple], n_triples: int, n_others: int = 0) -> list[RenderableType]:
    """Draw the triples that replaced values or go against the edits of people, then the first `n_others`."""
    effects = [triple for triple in rows if triple.before or triple.by_hand]
    other_rows = [triple for triple in rows if not triple.before and not triple.by_hand][:n_others]
    if not effects and not other_rows:
        return []
    table = make_table(">line", "triple", "before", "by", "", indent=2)
    for triple in [*effects[:MAX_EFFECTS], *other_rows]:
        name = f"{one_line(triple.subject)} · {one_line(triple.relation)} · {one_line(triple.object)}"
        origin = f"version {triple.version}, {triple.author}" if triple.version else ""
        state = "left out" if triple.is_left_out else "edited by hand" if triple.by_hand else ""
        table.add_row(f"{triple.line:,}", name, one_line(triple.before), origin, Text(state, style="red"))
    n_more = n_triples - len(other_rows) - min(MAX_EFFECTS, len(effects))
    rest = [Text(f"  and {plural(n_more, 'more triple')}", style="dim")] if other_rows and n_more > 0 else []
    return [table, *rest]


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
    """Join the reasons, the most frequent first."""
    pairs = sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{one_line(reason).replace('_', ' ')} {count:,}" for reason, count in pairs)


def format_rejected(counts: ImportCounts) -> str:
    """Format the rejected lines as TSV with a header line; a line break in a value becomes a space."""
    rows = [("line", "code", "reason")]
    rows += [(str(line.line), line.code, line.reason) for line in counts.rejected_lines]
    return "".join("\t".join(map(one_line, row)) + "\n" for row in rows)
