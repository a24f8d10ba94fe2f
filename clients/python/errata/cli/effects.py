"""What changed besides what was asked for: questions that nobody edited, and corrections that no longer hold."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from errata.cli.words import became, plural, said
from errata.wire import BrokenTest, ChangedProbe


def draw_effects(
    probes: int, changed: Sequence[ChangedProbe], broken: Sequence[BrokenTest] = ()
) -> list[RenderableType]:
    """probes: how many questions were asked that nobody edited."""
    parts: list[RenderableType] = []
    if probes and not changed:
        parts.append(Text(f"Nothing else changed: {plural(probes, 'other question')} answer as before."))
    if changed:
        count = f"{len(changed):,} of {plural(probes, 'other question')} changed too:"
        parts += [Text(count, style="yellow"), _changed(changed)]
    if broken:
        count = f"{plural(len(broken), 'earlier edit')} no longer holds:"
        parts += [Text(count, style="red"), draw_broken(broken)]
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
