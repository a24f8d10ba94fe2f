"""Commits and their differences, in the form that git gives them."""

from __future__ import annotations

from pydantic import ValidationError
from rich.console import Group, RenderableType
from rich.text import Text

from errata import wire
from errata.cli.render.drawing import draw_lines, draw_page, make_table
from errata.cli.render.escaping import one_line
from errata.cli.render.graph import (
    describe_act,
    describe_change,
    draw_fact_change,
    draw_memory_change,
    draw_triples,
    is_import,
    read_rows,
)
from errata.cli.render.outcomes import Row, draw_outcomes, list_changes, list_edit, list_fact, list_undone
from errata.cli.render.receipt import PACK_AND_EDITS, draw_details, draw_effects, draw_other_answers
from errata.cli.render.text import age, plural, short_digest, shorten
from errata.cli.render.worklist import describe_hits

MAX_SUBJECT_LETTERS = 48
MAX_TRIPLES = 20  # triples of an import that replaced nothing, and are shown


def draw_log(
    log: wire.VersionLog, limit: int, options: str = "", is_filtered: bool = False
) -> RenderableType:
    """Draw a line for each commit, with a command for older ones that has the same options."""
    if is_filtered and not log.versions:
        return Text("No commit matches.", style="dim")
    table = make_table(">version:yellow", "when", "who", "what", "message")
    for commit in log.versions:
        number = Text.assemble(("newest " if commit.version == log.head else "", "cyan"), str(commit.version))
        subject, message = _describe_commit(commit), commit.message.partition("\n")[0]
        table.add_row(number, age(commit.time), commit.author, subject, message)
    oldest = log.versions[-1].version if log.versions else 1
    if oldest == 1 and not is_filtered:
        table.add_row("0", "", "", "the base, before any edit", "", style="dim")
        return table
    is_last = len(log.versions) < limit or oldest == 1
    return draw_page(table, "errata log", options, None if is_last else oldest)


def _describe_commit(commit: wire.VersionSummary) -> str:
    if commit.kind != "edit":
        return _describe_undo(commit)
    count, subject = plural(commit.edits, "edit"), ""
    if commit.first is not None:
        notes, question = commit.first.notes, one_line(commit.first.question)
        subject = shorten(describe_change(notes) or question, MAX_SUBJECT_LETTERS) + describe_act(notes)
    return f"{count}: {subject}" if subject else count


def _describe_undo(commit: wire.VersionHead) -> str:
    """Return what a revert or a rollback was of, in words."""
    if commit.kind == "rollback":
        return f"rollback to {commit.target}"
    first, *rest = commit.target_edits or [str(commit.target)]
    suffix = f" and {len(rest):,} more" if rest else ""
    versions = f" of version {', '.join(map(str, commit.target_versions))}" if commit.target_versions else ""
    return f"revert of {'edit ' if commit.target_edits else ''}{first}{suffix}{versions}"


def draw_commit(commit: wire.VersionDetail, verbose: bool = False) -> RenderableType:
    """Draw a commit: who made it and why, its edits, what it replaced and changed besides."""
    undo = "" if commit.kind == "edit" else f" ({_describe_undo(commit)})"
    parts: list[RenderableType] = [
        Text(f"version {commit.version}{undo}", style="yellow"),
        Text(f"Author: {commit.author}"),
        Text(f"Date:   {commit.time.astimezone():%a %Y-%m-%d %H:%M:%S %z}"),
    ]
    if commit.message:
        parts += [Text(), *(Text(f"    {line}") for line in commit.message.splitlines())]
    try:
        report = wire.Report.model_validate(commit.report)
    except ValidationError:  # a commit that was made in another way may have none
        report = None
    reports = {edit.id: edit for edit in report.edits} if report else {}
    for edit in commit.edits:
        state = f"  (replaced by version {edit.replaced_in})" if edit.replaced_in else ""
        state = describe_act(edit.notes) + (state if edit.active else "  (taken back)")
        method = f" {edit.method}" if verbose else ""
        subject = edit.question or describe_change(edit.notes)
        parts += [Text(), Text.assemble((subject, "cyan"), (f"  {edit.id}{method}{state}", "dim"))]
        parts += draw_outcomes(_list_rows(edit, reports.get(edit.id), commit.kind), 2)
        if is_import(edit.notes):
            parts += draw_triples(read_rows(edit.notes), int(str(edit.notes["triples"])), MAX_TRIPLES)
        if edit.hits is not None and edit.hits.count:
            parts.append(Text.assemble(("gave ", "dim"), describe_hits(edit.hits)))
    omission = "What else it changed is noted in a form of another release, and not shown."
    return Group(
        *parts,
        Text(),
        *([*draw_effects(report), *draw_details(report, commit.kind)] if report else []),
        *draw_lines((omission if commit.report and report is None else "", "yellow")),
        *([_draw_writes(commit)] if verbose else []),
    )


def _list_rows(edit: wire.EditState, report: wire.EditReport | None, kind: wire.Kind) -> list[Row]:
    """Return the rows of an edit as its receipt has them, or without a report what it says; then its tests."""
    if report is not None:
        rows = list_undone([report]) if kind != "edit" else list_edit(report) or list_fact([report])
    else:
        wordings = [("", edit.question), *(("also", wording) for wording in edit.paraphrases)]
        rows = [_say(question, edit.answer, label) for label, question in wordings if question]
        rows += [_say(question, "", "not") for question in edit.counterexamples]
    return [*rows, *(_say(test.question, test.answer or "not sure", "test") for test in edit.tests)]


def _say(question: str, answer: str, label: str) -> Row:
    return Row(wire.Outcome(question=question), label, note=answer, has_answers=False)


def _draw_writes(commit: wire.VersionDetail) -> RenderableType:
    rows = [
        (
            memory,
            f"{plural(write.puts, 'block')} put, {write.removes:,} removed",
            short_digest(write.checksum),
        )
        for memory, write in commit.writes.items()
    ]
    table = make_table(rows=rows)
    table.style = "dim"
    return table


def draw_diff(diff: wire.Diff, verbose: bool = False) -> RenderableType:
    """Draw what two versions answer differently, and the facts and changes that only one of them has."""
    parts: list[RenderableType] = [
        *draw_lines((f"--- version {diff.from_version}", "bold"), (f"+++ version {diff.to_version}", "bold")),
        *draw_outcomes(list_changes(diff.changes), 2),
        *draw_lines(("the knowledge graph" if diff.facts else "", "cyan")),
    ]
    for fact in diff.facts:
        parts += [draw_fact_change(fact), *draw_triples(fact.rows, fact.triples, MAX_TRIPLES)]
    for memory in dict.fromkeys(change.memory for change in diff.memory_changes):
        changes = [change for change in diff.memory_changes if change.memory == memory]
        parts += [Text(memory, style="cyan"), *map(draw_memory_change, changes)]
    parts += draw_other_answers(PACK_AND_EDITS, diff)
    return Group(*parts, Text(_summarize_diff(diff, verbose), style="dim"))


def _summarize_diff(diff: wire.Diff, verbose: bool) -> str:
    memories = [memory for memory, differs in diff.checksums_differ.items() if differs]
    if not memories:
        return "The two versions are the same, bit for bit."
    n_facts, n_others = sum(fact.triples for fact in diff.facts), len(diff.memory_changes)
    counts = [
        plural(len(diff.changes), "changed answer"),
        plural(n_facts, "fact") if diff.facts else "",
        plural(n_others, "other change") if n_others else "",
    ]
    rows = f"; rows differ in {', '.join(memories)}" if verbose else ""
    return f"{', '.join(filter(None, counts))}{rows}."


def draw_tags(page: wire.TagList) -> RenderableType:
    """Draw the names of versions."""
    if not page.tags:
        return Text("No version has a name. Give one: errata tag NAME VERSION", style="dim")
    rows = [(tag.name, str(tag.version), age(tag.time), tag.by) for tag in page.tags]
    return make_table("tag:cyan", ">version:yellow", "when", "who", rows=rows)
