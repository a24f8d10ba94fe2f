"""Commits and their differences as a person reads them who knows git."""

from __future__ import annotations

from pydantic import ValidationError
from rich.console import Group, RenderableType
from rich.text import Text

from errata.cli.render.effects import draw_report, draw_side_effects
from errata.cli.render.facts import ACTS, describe_triple, draw_fact_change
from errata.cli.render.text import (
    age,
    draw_answer,
    make_grid,
    make_table,
    one_line,
    plural,
    short_digest,
    shorten,
    utc_now,
)
from errata.wire import Diff, Report, TagList, VersionDetail, VersionLog, VersionSummary

MAX_SUBJECT_LETTERS = 48


def draw_log(log: VersionLog) -> RenderableType:
    table = make_table(">version", "when", "who", "what", "message")
    table.columns[0].style = "yellow"
    for commit in log.versions:
        number = Text.assemble(("newest " if commit.version == log.head else "", "cyan"), str(commit.version))
        subject, message = _describe_commit(commit), commit.message.partition("\n")[0]
        table.add_row(number, age(commit.time, utc_now()), commit.author, subject, message)
    oldest = log.versions[-1].version if log.versions else 1
    if oldest == 1:
        table.add_row("0", "", "", "the base, before any edit", "", style="dim")
        return table
    return Group(table, Text(f"Older ones: errata log --before {oldest}", style="dim"))


def _describe_commit(commit: VersionSummary) -> str:
    if commit.kind != "edit":
        return f"revert of {commit.target}" if commit.kind == "revert" else f"rollback to {commit.target}"
    count, first = plural(commit.edits, "edit"), commit.first
    if first is None:
        return count
    subject = shorten(describe_triple(first.notes) or one_line(first.question), MAX_SUBJECT_LETTERS)
    return ": ".join(filter(None, (count, subject + ACTS.get(str(first.notes.get("act")), ""))))


def draw_commit(commit: VersionDetail) -> RenderableType:
    targets = {"revert": f" (revert of {commit.target})", "rollback": f" (rollback to {commit.target})"}
    parts: list[RenderableType] = [
        Text(f"version {commit.version}{targets.get(commit.kind, '')}", style="yellow"),
        Text(f"Author: {commit.author}"),
        Text(f"Date:   {commit.time.astimezone():%a %Y-%m-%d %H:%M:%S %z}"),
    ]
    if commit.message:
        parts += [Text(), *(Text(f"    {line}") for line in commit.message.splitlines())]
    try:
        report = Report.model_validate(commit.report)
    except ValidationError:  # a commit that was made in another way may have none
        report = None
    reports = {edit.id: edit for edit in report.edits} if report else {}
    for edit in commit.edits:
        state = "" if edit.active else "  (taken back)"
        subject = edit.question or describe_triple(edit.notes)
        parts += [Text(), Text.assemble((subject, "cyan"), (f"  {edit.id} {edit.method}{state}", "dim"))]
        parts += [Text.assemble(("also ", "dim"), wording) for wording in edit.paraphrases]
        if edit.id in reports and (edit.question or reports[edit.id].before):
            parts.append(_draw_side("-", reports[edit.id].before))
        if edit.answer:
            parts.append(_draw_side("+", edit.answer))
    writes = make_grid()
    writes.style = "dim"
    for memory, write in commit.writes.items():
        rows = f"{plural(write.puts, 'block')} put, {write.removes:,} removed"
        writes.add_row(memory, rows, short_digest(write.checksum))
    return Group(*parts, Text(), *(draw_report(report) if report else []), writes)


def _draw_side(sign: str, answer: str | None) -> Text:
    return Text.assemble(f"{sign} ", draw_answer(answer), style="green" if sign == "+" else "red")


def draw_diff(diff: Diff) -> RenderableType:
    parts: list[RenderableType] = [
        Text(f"--- version {diff.from_version}", style="bold"),
        Text(f"+++ version {diff.to_version}", style="bold"),
    ]
    for change in diff.changes:
        author = f"  {change.edit} {change.model}".rstrip()
        parts.append(Text.assemble((change.question, "cyan"), (author, "dim")))
        if change.is_measured or change.before is not None:
            parts.append(_draw_side("-", change.before))
        if change.is_measured or change.after is not None:
            parts.append(_draw_side("+", change.after))
    if diff.facts:
        parts += [Text("the knowledge graph", style="cyan"), *map(draw_fact_change, diff.facts)]
    parts += draw_side_effects(diff.probes, diff.side_effects, diff.unmeasured_probes)
    memories = [memory for memory, differs in diff.checksums_differ.items() if differs]
    if memories:
        facts = f", {plural(len(diff.facts), 'fact')}" if diff.facts else ""
        summary = f"{plural(len(diff.changes), 'change')}{facts}; rows differ in {', '.join(memories)}."
    else:
        summary = "The two versions are the same, bit for bit."
    return Group(*parts, Text(summary, style="dim"))


def draw_tags(page: TagList) -> RenderableType:
    if not page.tags:
        return Text("No version has a name. Give one: errata tag NAME VERSION", style="dim")
    table = make_table("tag", ">version", "when", "who")
    for column, style in zip(table.columns, ("cyan", "yellow"), strict=False):
        column.style = style
    for tag in page.tags:
        table.add_row(tag.name, str(tag.version), age(tag.time, utc_now()), tag.by)
    return table
