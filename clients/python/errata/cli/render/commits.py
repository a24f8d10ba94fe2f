"""Commits and their differences as a person reads them who knows git."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from itertools import groupby

from pydantic import ValidationError
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from errata.cli.render.effects import draw_bystanders, draw_report
from errata.cli.render.facts import ACTS, fact_told, triple
from errata.cli.render.text import ago, cut, one_line, plural, said, short
from errata.wire import (
    Change,
    Diff,
    EditHead,
    EditReport,
    EditState,
    Report,
    VersionDetail,
    VersionLog,
    VersionSummary,
)

ABOUT_LETTERS = 48


def draw_log(log: VersionLog, now: datetime) -> RenderableType:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("version", justify="right", style="yellow")
    for title in ("when", "who", "what", "message"):
        table.add_column(title)
    for one in log.versions:
        why = one.message.partition("\n")[0]
        table.add_row(_mark(one.version, log.head), ago(one.time, now), one.author, _what(one), why)
    oldest = log.versions[-1].version if log.versions else 1
    if oldest == 1:
        table.add_row("0", "", "", "the base, before any edit", "", style="dim")
        return table
    return Group(table, Text(f"Older ones: errata log --before {oldest}", style="dim"))


def _mark(version: int, head: int) -> Text:
    return Text.assemble(("newest ", "cyan"), str(version)) if version == head else Text(str(version))


def _what(one: VersionSummary) -> str:
    if one.kind == "edit":
        return ": ".join(filter(None, (plural(one.edits, "edit"), _about(one.first))))
    return f"revert of {one.target}" if one.kind == "revert" else f"rollback to {one.target}"


def _about(first: EditHead | None) -> str:
    if first is None:
        return ""
    act = ACTS.get(str(first.notes.get("act")), "")
    return cut(triple(first.notes) or one_line(first.question), ABOUT_LETTERS) + act


def draw_commit(commit: VersionDetail) -> RenderableType:
    lines = [
        Text(f"version {commit.version}{_target(commit)}", style="yellow"),
        Text(f"Author: {commit.author}"),
        Text(f"Date:   {commit.time.astimezone():%a %Y-%m-%d %H:%M:%S %z}"),
    ]
    if commit.message:
        lines += [Text(), *(Text(f"    {line}") for line in commit.message.splitlines())]
    report = _report(commit)
    told = {one.id: one for one in report.edits} if report else {}
    for one in commit.edits:
        lines += [Text(), *_edit(one, told)]
    effects = draw_report(report) if report else []
    return Group(*lines, Text(), *effects, _writes(commit))


def _target(commit: VersionDetail) -> str:
    if commit.kind == "edit":
        return ""
    return f" (revert of {commit.target})" if commit.kind == "revert" else f" (rollback to {commit.target})"


def _edit(edit: EditState, reports: Mapping[str, EditReport]) -> list[Text]:
    state = "" if edit.active else "  (taken back)"
    first = Text.assemble(
        (edit.question or triple(edit.notes), "cyan"), (f"  {edit.id} {edit.method}{state}", "dim")
    )
    others = [Text.assemble(("also ", "dim"), other) for other in edit.paraphrases]
    told = edit.id in reports and (edit.question or reports[edit.id].before)
    before = [_removed(reports[edit.id].before)] if told else []
    return [first, *others, *before, *([_added(edit.answer)] if edit.answer else [])]


def _report(commit: VersionDetail) -> Report | None:
    """As the receipt told it; a commit that was made in another way may have none."""
    try:
        return Report.model_validate(commit.report)
    except ValidationError:
        return None


def _writes(commit: VersionDetail) -> Table:
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0), style="dim")
    for memory, write in commit.writes.items():
        rows = f"{plural(write.puts, 'block')} put, {write.removes:,} removed"
        table.add_row(memory, rows, short(write.checksum))
    return table


def draw_diff(diff: Diff) -> RenderableType:
    parts: list[RenderableType] = [
        Text(f"--- version {diff.from_version}", style="bold"),
        Text(f"+++ version {diff.to_version}", style="bold"),
    ]
    for question, changes in groupby(diff.changes, key=lambda change: change.question):
        parts.append(Group(*_change(question, list(changes))))
    if diff.facts:
        parts += [Text("the knowledge graph", style="cyan"), *map(fact_told, diff.facts)]
    parts += draw_bystanders(diff.probes, diff.side_effects, diff.unmeasured_probes)
    parts.append(_sum(diff))
    return Group(*parts)


def _change(question: str, changes: list[Change]) -> list[Text]:
    lines: list[Text] = []
    for one in changes:
        lines.append(Text.assemble((question, "cyan"), (f"  {one.edit} {one.model}".rstrip(), "dim")))
        known = one.is_measured or one.before is not None, one.is_measured or one.after is not None
        lines += [_removed(one.before)] if known[0] else []
        lines += [_added(one.after)] if known[1] else []
    return lines


def _removed(answer: str | None) -> Text:
    return Text.assemble("- ", said(answer), style="red")


def _added(answer: str | None) -> Text:
    return Text.assemble("+ ", said(answer), style="green")


def _sum(diff: Diff) -> Text:
    differing = [memory for memory, differs in diff.checksums_differ.items() if differs]
    if not differing:
        return Text("The two versions are the same, bit for bit.", style="dim")
    facts = f", {plural(len(diff.facts), 'fact')}" if diff.facts else ""
    return Text(
        f"{plural(len(diff.changes), 'change')}{facts}; rows differ in {', '.join(differing)}.", style="dim"
    )
