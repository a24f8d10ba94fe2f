"""The worklist, and how often edits answer, as a person reads them."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from errata.cli.render.text import age, make_table, one_line, plural, utc_now
from errata.wire import Gap, GapCheck, GapGroup, GapPage, Hits

KINDS = {"declined": "no answer", "uncovered": "no fact covers it", "near": "an edit is near"}
MAX_MEMBERS = 5  # things of a group that are named


def draw_gaps(page: GapPage) -> RenderableType:
    if not page.days:
        return Text(
            "The service keeps no questions. Start it with --gaps-days 7 to keep each for seven days."
        )
    if not page.gaps:
        return Text("Every question was answered.")
    now = utc_now()
    table = make_table(">line", ">asked", "last", "model", "why", "question")
    for gap in page.gaps:
        why = KINDS.get(gap.kind, gap.kind)
        line, count, last = str(gap.line), f"{gap.count:,}", age(gap.last, now)
        table.add_row(line, count, last, gap.model, Text(why, style="dim"), one_line(gap.question))
    hints = [f'Answer one by its line: errata edit {page.gaps[0].line} "ANSWER"']
    hints.append("Take out those that are answered by now: errata gaps --again")
    if page.total > len(page.gaps):
        hints.append(f"These are {len(page.gaps):,} of {plural(page.total, 'line')}: --limit shows more.")
    groups = [
        *draw_groups("Missing of several things", page.facts),
        *draw_groups("Missing of one thing", page.things),
    ]
    return Group(*groups, table, Text(), *(Text(hint, style="dim") for hint in hints))


def draw_groups(title: str, groups: Sequence[GapGroup]) -> list[RenderableType]:
    """Draw the groups that take several lines together; a single line says as much as its group."""
    groups = [group for group in groups if group.n_members > 1]
    if not groups:
        return []
    table = make_table(">asked", title.lower(), "", indent=2)
    for group in groups:
        n_more = group.n_members - MAX_MEMBERS
        rest = f" and {n_more:,} more" if n_more > 0 else ""
        table.add_row(
            f"{group.count:,}", one_line(group.name), one_line(", ".join(group.members[:MAX_MEMBERS])) + rest
        )
    return [Text(title, style="bold"), table, Text()]


def draw_gap_check(check: GapCheck) -> RenderableType:
    if not check.count:
        return Text("There was no line to ask.")
    count = f"{len(check.gaps):,} of {plural(check.count, 'line')}"
    lines = [Text(f"  {gap.line}  {one_line(gap.question)}") for gap in check.gaps]
    return Group(Text(f"{count} answered now and taken out{':' if lines else '.'}"), *lines)


def draw_dropped_gap(gap: Gap) -> RenderableType:
    return Text(f"Line {gap.line} is taken out: {one_line(gap.question)}")


def describe_hits(hits: Hits | None) -> str:
    """Return the number of answers and the age of the last one, "" where they are not known."""
    if hits is None:
        return ""
    if hits.last is None:
        return "no answer yet"
    return f"{plural(hits.count, 'answer')}, the last {age(hits.last, utc_now())}"
