"""Questions with their answers before and after a change: one row each in one table, wherever a change is row."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rich.console import RenderableType
from rich.padding import Padding
from rich.style import Style
from rich.text import Text

from errata import wire
from errata.cli.render.drawing import draw_answer, draw_change, make_compact_table
from errata.cli.render.escaping import one_line
from errata.cli.render.graph import describe_change, is_import
from errata.cli.render.text import percent, plural
from errata.wire import Outcome

EMPTY = "nothing"  # a graph that says nothing is not unsure
NO_EDIT = "no edit"
MAX_GOOD = 2  # wordings around an edit that are as they should be, and are row
WARNINGS = ("near, follows too", "tried, does not")  # labels that a curator should look at


class Row(NamedTuple):
    """One row of the table."""

    outcome: Outcome
    label: str = ""  # the system, the kind of wording, or the version behind it
    good: bool | None = None  # whether it is as a curator expects; None without an expectation
    note: str = ""
    has_answers: bool = True  # whether the answers are row


def draw_outcomes(rows: Iterable[Row], indent: int = 4) -> list[RenderableType]:
    """Draw a table without the columns that no row needs; nothing without rows."""
    table = make_compact_table(rows=map(_draw_cells, rows))
    return [Padding.indent(table, indent)] if table.row_count else []


def draw_section(heading: str, style: str, rows: Iterable[Row]) -> list[RenderableType]:
    """Draw a heading with its table; nothing without rows."""
    table = draw_outcomes(rows, 2)
    return [Text(heading, style), *table] if table else []


def draw_tests(heading: str, style: str, tests: Sequence[Outcome]) -> list[RenderableType]:
    """Draw questions of edits that get other answers than theirs; the heading has the number of edits at its braces."""
    return draw_section(heading.format(count_edits(tests)), style, list_tests(tests))


def _draw_cells(row: Row) -> tuple[Text, ...]:
    outcome = row.outcome
    mark = {True: Text("✓", "green"), False: Text("✗", "red"), None: Text()}[row.good]
    label = Text(row.label, "yellow" if row.label in WARNINGS else "dim")
    answers = Text()
    if row.has_answers and outcome.before == outcome.after:
        answers = Text.assemble("stays ", draw_answer(outcome.after))
    elif row.has_answers:
        answers = draw_change(outcome.before, outcome.after)
        if outcome.link is not None:
            length = len(draw_answer(outcome.before))
            answers.stylize(Style(link=outcome.link.before), 0, length)
            answers.stylize(Style(link=outcome.link.after), length + len(" → "))
    return (
        mark,
        label,
        Text(one_line(outcome.question)),
        answers,
        Text(row.note, "red" if row.good is False else "dim"),
    )


def list_edit(edit: wire.EditReport, verbose: bool = False) -> list[Row]:
    """Return the question of an edit, the examples for and against it, its tests, and the questions around it."""
    if not edit.question:
        return []
    expectation, against = f"(wanted: {edit.answer or 'no answer'})", "(answered by this edit)"
    note = "" if edit.holds else expectation
    if edit.holds and "extends" in edit.notes:
        note = f"keeps what version {edit.notes['extends']} says"
    visitors = [edit.visitors] if edit.visitors and edit.visitors.before != edit.before else []
    near = [Row(o, note=_describe_near(o, verbose), has_answers=False) for o in edit.near_questions]
    stays = [row._replace(label="near, stays") for row in near if not row.outcome.follows]
    return [
        Row(_of_edit(edit), edit.model, edit.holds, note),
        *(Row(o, "visitors") for o in visitors),
        *(Row(o, "also", o.follows, "" if o.follows else expectation) for o in edit.paraphrases),
        *(Row(o, "not", not o.follows, against if o.follows else "") for o in edit.counterexamples),
        *(Row(o, "test", o.follows) for o in edit.tests),
        *(row._replace(label="near, follows too") for row in near if row.outcome.follows),
        *_shorten(stays, verbose),
        *_list_tried(edit.generated_paraphrases, verbose),
    ]


def _of_edit(edit: wire.EditReport, subject: str = "the graph says") -> Outcome:
    """Return the outcome of the question of an edit, or of a change of the graph, which has a subject in its place."""
    if edit.question:
        return Outcome(question=edit.question, before=edit.before, after=edit.after)
    return Outcome(question=subject, before=edit.before or EMPTY, after=edit.after or EMPTY)


def _describe_near(near: Outcome, verbose: bool) -> str:
    clauses = [] if near.version is None else [f"{near.after}, by version {near.version}"]
    clauses += [f"{percent(near.probability or 0)} likely the same"] if verbose else []
    return "; ".join(clauses)


def _list_tried(wordings: Iterable[Outcome], verbose: bool) -> list[Row]:
    """Return wordings that the service tried, each once: those that follow, then the others."""
    wordings = {wording.question: wording for wording in wordings}.values()
    following = [Row(o, "tried, follows", has_answers=False) for o in wordings if o.follows]
    return [*_shorten(following, verbose), *(Row(o, "tried, does not") for o in wordings if not o.follows)]


def _shorten(rows: Sequence[Row], verbose: bool) -> list[Row]:
    """Return the first few rows, the last of which says how many more there are."""
    n_more = 0 if verbose else len(rows) - MAX_GOOD
    if n_more <= 0:
        return list(rows)
    first, last = rows[: MAX_GOOD - 1], rows[MAX_GOOD - 1]
    return [*first, last._replace(note=", ".join(filter(None, (last.note, f"and {n_more:,} more"))))]


def list_fact(reports: Sequence[wire.EditReport], verbose: bool = False) -> list[Row]:
    """Return what each system answers to the question of a fact, and how its other wordings follow."""
    rows: list[Row] = []
    for report in reports:
        if "define" in report.notes or is_import(report.notes):
            continue
        system = report.model or report.method
        note = "" if report.holds else f"(wanted: {report.answer or 'no answer'})"
        rows.append(Row(_of_edit(report), system, report.holds, note))
        rows += [Row(o, system, False) for o in report.paraphrases if not o.follows]
    following = (o for report in reports for o in report.paraphrases if o.follows)
    return [*rows, *_list_tried(following, verbose)]


def list_undone(edits: Sequence[wire.EditReport]) -> list[Row]:
    """Return each question of a revert or a rollback once, however many edits on it came or went.

    The last of several edits on one question decides it. Two models may answer one question differently.
    """
    rows: dict[tuple[str, str | None, str | None], Row] = {}
    for edit in edits:
        has_answers = bool(edit.question or "object" in edit.notes)  # unlike a relation, an import, a rule
        # The edit may have lost its question before it was taken back, and whatever took it answers here, too
        is_overridden = edit.before == edit.after != edit.answer
        for outcome, label, good in (
            (_of_edit(edit, describe_change(edit.notes)), "", edit.holds if has_answers else None),
            *((other, "also", other.follows) for other in edit.paraphrases),
        ):
            is_decided = is_overridden and edit.question and outcome.before == outcome.after
            note = "a later edit decides it" if is_decided else ""
            note = f"(wanted: {edit.answer})" if good is False else note
            key = outcome.question, outcome.before, outcome.after
            rows[key] = Row(outcome, label, good, note, has_answers)
    return list(rows.values())


def list_tests(tests: Iterable[Outcome]) -> list[Row]:
    """Return questions of edits that get other answers than theirs, with the version that answers where it is known."""
    return [
        Row(test, f"version {test.version}", note=f"by version {test.by_version}" if test.by_version else "")
        for test in tests
    ]


def list_changes(changes: Iterable[Outcome]) -> list[Row]:
    """Return the wordings of edits that two versions answer differently; one that was not measured is an edit's."""
    return [Row(name_absence(change), note=f"{change.edit} {change.model}".rstrip()) for change in changes]


def name_absence(change: Outcome) -> Outcome:
    names = {"before": change.before or NO_EDIT, "after": change.after or NO_EDIT}
    return change if change.is_measured else change.model_copy(update=names)


def count_edits(tests: Iterable[Outcome]) -> str:
    """Return how many edits tests are of."""
    return plural(len({test.edit for test in tests}), "earlier edit")
