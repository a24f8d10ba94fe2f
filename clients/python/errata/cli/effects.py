"""What changed besides what was asked for: questions that nobody edited, and corrections that no longer hold."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from errata.cli.words import became, plural, said
from errata.wire import BrokenTest, ChangedProbe, Report


def draw_report(report: Report) -> list[RenderableType]:
    """The bystanders, the earlier edits, and how much of either was not looked at."""
    parts = draw_bystanders(report.probes, report.changed)
    if report.broken_tests:
        edits = len({one.edit for one in report.broken_tests})
        count = f"{plural(edits, 'earlier edit')} no longer {'hold' if edits > 1 else 'holds'}:"
        parts += [Text(count, style="red"), draw_broken(report.broken_tests)]
    if report.tests.run < report.tests.total:
        run = f"{report.tests.run:,} of {plural(report.tests.total, 'fact test')} were run"
        parts.append(Text(f"{run}, the nearest to this commit: errata check runs all.", style="yellow"))
    if report.edits_left_out:
        left = f"{plural(report.edits_left_out, 'older edit')} of this commit are not told of here"
        parts.append(Text(f"{left}: errata diff compares the versions.", style="yellow"))
    return parts


def draw_bystanders(probes: int, changed: Sequence[ChangedProbe]) -> list[RenderableType]:
    """probes: how many questions were asked that nobody edited."""
    parts: list[RenderableType] = []
    if probes and not changed:
        parts.append(Text(f"Nothing else changed: {plural(probes, 'other question')} answer as before."))
    if changed:
        count = f"{len(changed):,} of {plural(probes, 'other question')} changed too:"
        parts += [Text(count, style="yellow"), _changed(changed)]
    return parts


def _changed(changed: Sequence[ChangedProbe]) -> Table:
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 2))
    for one in changed:
        table.add_row(one.question, became(one.before, one.after))
    return table


def draw_broken(broken: Sequence[BrokenTest]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 2), header_style="dim")
    for title in ("version", "question", "should be", "is"):
        table.add_column(title)
    for one in broken:
        table.add_row(str(one.version), one.question, one.expected, said(one.actual))
    return table
