"""What changed besides what was asked for: side effects, and corrections that no longer hold."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import RenderableType
from rich.style import Style
from rich.table import Table
from rich.text import Text

from errata.cli.render.text import draw_answer, make_grid, make_table, plural
from errata.wire import BrokenTest, Report, SideEffect, SupersededTest


def draw_report(report: Report) -> list[RenderableType]:
    """Side effects, then the fact tests of earlier edits."""
    parts = draw_side_effects(report.probes, report.side_effects, report.unmeasured_probes)
    if report.broken_tests:
        edits = len({test.edit for test in report.broken_tests})
        count = f"{plural(edits, 'earlier edit')} no longer {'hold' if edits > 1 else 'holds'}:"
        parts += [Text(count, style="red"), draw_broken(report.broken_tests)]
    if on_purpose := [test for test in report.superseded_tests if test.on_purpose]:
        edits = len({test.edit for test in on_purpose})
        count = f"{plural(edits, 'earlier edit')} {'are' if edits > 1 else 'is'} replaced"
        consequence = f"{count}, and will be back if this is taken back:"
        parts += [Text(consequence, style="yellow"), draw_superseded(on_purpose)]
    if report.edits_left_out:
        count = f"{plural(report.edits_left_out, 'older edit')} of this commit are not told of here"
        parts.append(Text(f"{count}: errata diff compares the versions.", style="yellow"))
    return parts


def draw_side_effects(
    probes: int, side_effects: Sequence[SideEffect], unmeasured_probes: int
) -> list[RenderableType]:
    """probes: how many unedited questions were compared. unmeasured_probes: how many more may have changed."""
    parts: list[RenderableType] = []
    if probes and not side_effects:
        claim = "" if unmeasured_probes else "Nothing else changed: "
        parts.append(Text(f"{claim}{plural(probes, 'other question')} answer as before."))
    if side_effects:
        count = f"{len(side_effects):,} of {plural(probes, 'other question')} changed too:"
        table = make_grid(indent=2)
        for effect in side_effects:
            before, after = draw_answer(effect.before), draw_answer(effect.after)
            if effect.link:  # paths of the service, where a person can see it answered
                before.stylize(Style(link=effect.link.before))
                after.stylize(Style(link=effect.link.after) if effect.link.after else "")
            table.add_row(effect.question, before, Text("→", "dim"), after)
        parts += [Text(count, style="yellow"), table]
    if unmeasured_probes:
        count = plural(unmeasured_probes, "more question")
        parts.append(Text(f"{count} may have changed too: nobody asked.", "dim"))
    return parts


def draw_overwritten(tests: Sequence[SupersededTest]) -> list[RenderableType]:
    """What a change takes the place of without having been told to."""
    surprises = [test for test in tests if not test.on_purpose]
    if not surprises:
        return []
    versions = " ".join(f"--replaces {version}" for version in sorted({test.version for test in surprises}))
    edits = len({test.edit for test in surprises})
    count = f"This takes the place of {plural(edits, 'earlier edit')} that it was not told to replace:"
    advice = f"If that is right, say {versions}; if not, take it back and give the question with --not."
    return [Text(count, style="red"), draw_superseded(surprises), Text(advice, style="dim")]


def draw_superseded(tests: Sequence[SupersededTest]) -> Table:
    table = make_table("version", "question", "was", "is", "since version", indent=2)
    for test in tests:
        answer = draw_answer(test.actual)
        table.add_row(str(test.version), test.question, test.expected, answer, str(test.by_version))
    return table


def draw_broken(tests: Sequence[BrokenTest]) -> Table:
    table = make_table("version", "question", "should be", "is", indent=2)
    for test in tests:
        table.add_row(str(test.version), test.question, test.expected, draw_answer(test.actual))
    return table
