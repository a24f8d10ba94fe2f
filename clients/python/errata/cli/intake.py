"""What an import did: how much the graph has grown, how long it took, and which lines could not be used."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from errata.cli.effects import draw_report
from errata.cli.outcomes import warnings
from errata.cli.receipt import reach
from errata.cli.words import one_line, plural, seconds
from errata.wire import ImportCounts, ImportReceipt

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
