"""Which edit a question asks for, as a curator reads it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from errata.cli.render.facts import describe_triple
from errata.cli.render.text import draw_answer, make_table, one_line, percent, shorten
from errata.wire import Answer, EditDetail, ScopeCandidate, ScopeReport

MAX_LETTERS = 60
VERDICTS = {
    "answers": "answers it",
    "less_likely": "could, another is likelier",
    "near": "near: not sure enough",
    "not_asked": "asks for something else",
    "other_literal": "another number or code",
    "other_subject": "about another subject",
    "far": "reads too differently",
}


def draw_scope(report: ScopeReport) -> RenderableType:
    if not report.candidates:
        return Text(f"No edit of {report.model} is near: the base answers.", style="dim")
    table = make_table(">likely", "verdict", "wording", "answer", ">version", "who", "edit")
    for candidate in report.candidates:
        likely = "" if candidate.probability is None else percent(candidate.probability)
        verdict = VERDICTS.get(candidate.verdict, candidate.verdict)
        style = {"answers": "green", "near": "yellow"}.get(candidate.verdict, "dim")
        wording = shorten(one_line(candidate.question), MAX_LETTERS)
        origin = candidate.version, candidate.author, candidate.edit
        table.add_row(likely, verdict, wording, candidate.answer, *map(str, origin), style=style)
    summary = "An edit answers it." if report.edit else "No edit answers it: the base does."
    return Group(table, Text(summary, style="dim"))


def draw_reason(
    answer: Answer, edits: Sequence[EditDetail], candidate: Mapping[str, ScopeCandidate]
) -> RenderableType:
    """Args:
    matched: edit -> the wording by which it was found.
    """
    parts: list[RenderableType] = [draw_answer(answer.answer)]
    if not edits:
        parts.append(Text(f"No edit: this is what {answer.model} learnt.", style="dim"))
    return Group(*parts, *(draw_edit(detail, candidate.get(detail.edit.id)) for detail in edits))


def draw_edit(detail: EditDetail, candidate: ScopeCandidate | None = None) -> RenderableType:
    """One edit, and who made it, when and why.

    Args:
        matched: the wording by which a question found it.
    """
    edit = detail.edit
    state = "" if edit.active else "  (taken back)"
    parts = [Text.assemble(("edit ", "dim"), edit.id, (f"  version {detail.version}{state}", "yellow"))]
    subject = edit.question or describe_triple(edit.notes)
    rows = [
        ("question", subject),
        *(("also", wording) for wording in edit.paraphrases),
        *(("not", question) for question in edit.counterexamples),
        ("answer", edit.answer),
    ]
    if candidate:
        rows.append(("matched", f"{candidate.question}  {percent(candidate.probability or 0.0)}"))
    rows.append(("made by", f"{detail.author}, {detail.time.astimezone():%Y-%m-%d %H:%M}"))
    if detail.message:
        rows.append(("because", one_line(detail.message)))
    return Group(*parts, *(Text.assemble((f"{name:<9}", "dim"), text) for name, text in rows))
