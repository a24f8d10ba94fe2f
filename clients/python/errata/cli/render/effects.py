"""What changed besides what was asked for: questions that nobody edited, and corrections that no longer hold."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import RenderableType
from rich.style import Style
from rich.table import Table
from rich.text import Text

from errata.cli.render.text import plural, said
from errata.wire import BrokenTest, Report, SideEffect, SupersededTest


def draw_report(report: Report) -> list[RenderableType]:
    """The bystanders and the earlier edits."""
    parts = draw_bystanders(report.probes, report.side_effects, report.unmeasured_probes)
    if report.broken_tests:
        edits = len({one.edit for one in report.broken_tests})
        count = f"{plural(edits, 'earlier edit')} no longer {'hold' if edits > 1 else 'holds'}:"
        parts += [Text(count, style="red"), draw_broken(report.broken_tests)]
    if report.superseded_tests:
        edits = len({one.edit for one in report.superseded_tests})
        count = f"{plural(edits, 'earlier edit')} {'are' if edits > 1 else 'is'} superseded"
        back = f"{count}, and will be back if this is taken back:"
        parts += [Text(back, style="yellow"), draw_superseded(report.superseded_tests)]
    if report.edits_left_out:
        left = f"{plural(report.edits_left_out, 'older edit')} of this commit are not told of here"
        parts.append(Text(f"{left}: errata diff compares the versions.", style="yellow"))
    return parts


def draw_bystanders(
    probes: int, changed: Sequence[SideEffect], unmeasured_probes: int
) -> list[RenderableType]:
    """probes: how many unedited questions were compared. unmeasured_probes: how many more may have changed."""
    parts: list[RenderableType] = []
    if probes and not changed:
        none = "" if unmeasured_probes else "Nothing else changed: "
        parts.append(Text(f"{none}{plural(probes, 'other question')} answer as before."))
    if changed:
        count = f"{len(changed):,} of {plural(probes, 'other question')} changed too:"
        parts += [Text(count, style="yellow"), _changed(changed)]
    if unmeasured_probes:
        parts.append(
            Text(f"{plural(unmeasured_probes, 'more question')} may have changed too: nobody asked.", "dim")
        )
    return parts


def _changed(changed: Sequence[SideEffect]) -> Table:
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 2))
    for one in changed:
        before, after = (one.link.before, one.link.after) if one.link else (None, None)
        table.add_row(one.question, _linked(one.before, before), Text("→", "dim"), _linked(one.after, after))
    return table


def _linked(answer: str | None, path: str | None) -> Text:
    """path: of the service, where a person can see it answered."""
    text = said(answer)
    if path is not None:
        text.stylize(Style(link=path))
    return text


def draw_superseded(superseded: Sequence[SupersededTest]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 2), header_style="dim")
    for title in ("version", "question", "was", "is", "since version"):
        table.add_column(title)
    for one in superseded:
        table.add_row(str(one.version), one.question, one.expected, said(one.actual), str(one.by_version))
    return table


def draw_broken(broken: Sequence[BrokenTest]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 2), header_style="dim")
    for title in ("version", "question", "should be", "is"):
        table.add_column(title)
    for one in broken:
        table.add_row(str(one.version), one.question, one.expected, said(one.actual))
    return table
