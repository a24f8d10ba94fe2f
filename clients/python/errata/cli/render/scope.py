"""Which edit a question asks for, and why it is answered as it is, as a curator reads it."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from errata.cli.render.drawing import draw_answer, make_table
from errata.cli.render.escaping import one_line
from errata.cli.render.graph import describe_change, is_fact, is_import, read_rows
from errata.cli.render.text import percent, shorten
from errata.cli.render.worklist import describe_hits
from errata.wire import Answer, Cause, EditDetail, ScopeReport, WhyReport

MAX_LETTERS = 60
VERDICTS = {
    "answers": "answers it",
    "less_likely": "could, another is likelier",
    "near": "near: not sure enough",
    "not_asked": "asks for something else",
    "other_literal": "another number or code",
    "other_subject": "about another subject",
    "far": "too far, or others are nearer",
}


def draw_scope(report: ScopeReport) -> RenderableType:
    if not report.candidates:
        return Text(f"No edit of {report.model} is near: the base answers.", style="dim")
    table = make_table(">likely", "verdict", "wording", "answer", ">version", "who", "edit")
    for candidate in report.candidates:
        table.add_row(
            "" if candidate.probability is None else percent(candidate.probability),
            VERDICTS.get(candidate.verdict, candidate.verdict),
            shorten(one_line(candidate.question), MAX_LETTERS),
            candidate.answer,
            str(candidate.version),
            candidate.author,
            candidate.edit,
            style={"answers": "green", "near": "yellow"}.get(candidate.verdict, "dim"),
        )
    summary = "An edit answers it." if report.edit else "No edit answers it: the base does, where it is sure."
    return Group(table, Text(summary, style="dim"))


def draw_edit(detail: EditDetail, match: Text | None = None) -> RenderableType:
    """Draw one edit, who made it, when and why, and how a question found it."""
    edit = detail.edit
    state = "" if edit.active else "  (taken back)"
    if detail.replaced_in is not None:
        state = f"  (replaced by edit {detail.replaced_by} of version {detail.replaced_in})"
    head = Text.assemble(("edit ", "dim"), edit.id, (f"  version {detail.version}{state}", "yellow"))
    tests = [("test", Text.assemble(f"{test.question}  ", draw_answer(test.answer))) for test in edit.tests]
    rows: list[tuple[str, str | Text]] = [
        ("fact" if is_fact(edit.notes) else "change", describe_change(edit.notes)),
        ("question", edit.question),
        *(("also", wording) for wording in edit.paraphrases),
        *(("not", question) for question in edit.counterexamples),
        ("answer", edit.answer),
        *([("matched", match)] if match else tests),
        ("gave", describe_hits(edit.hits)),
        ("again", f"looked at on {edit.review}" if edit.review else ""),
        ("made by", f"{detail.author}, {detail.time.astimezone():%Y-%m-%d %H:%M}"),
        ("because", one_line(detail.message)),
    ]
    return Group(head, *(say(name, text) for name, text in rows if text or name == "answer"))


def say(label: str, text: str | Text, remark: str = "") -> Text:
    """Draw a line with a label in front, and a remark behind it."""
    return Text.assemble((f"{label:<9}", "dim"), text, (remark, "dim"))


def draw_why(report: WhyReport) -> RenderableType:
    """Draw the answer, each edit and fact behind it, and what would answer without them."""
    answer = report.answer
    confidence = "" if answer.answer is None or answer.upstream else f" · {percent(answer.score)} sure"
    details = f"  version {answer.version}{confidence} · by {answer.model}"
    parts: list[RenderableType] = [Text.assemble(draw_answer(answer.answer), (details, "dim"))]
    for cause in report.causes:
        parts += [draw_edit(cause, _draw_match(cause)), *draw_imported(cause, answer)]
    for fact in report.facts:
        triple = f"{fact.subject} · {fact.label} · {fact.object}"
        origin = f"  {fact.entity}, of the base of {answer.model}"
        parts.append(Text.assemble(("fact ", "dim"), triple, (origin, "dim")))
    if not report.causes and not report.facts:
        parts.append(Text(f"No edit and no fact: {_describe_base(answer)}", style="dim"))
    near = answer.nearby_edit
    if near is not None:
        is_kept_out = answer.upstream and near.probability >= 0.5
        reason = "the mode of the upstream keeps it out" if is_kept_out else "not sure enough"
        words = f"near, and {reason}: edit {near.edit}, {near.question}  {percent(near.probability)}"
        parts.append(Text(words, "yellow"))
    if report.without is not None:
        source = f"  by edit {', '.join(report.without.edits)}" if report.without.edits else "  by no edit"
        parts.append(say(f"without, by {answer.model}: ", draw_answer(report.without.answer), source))
    return Group(*parts)


def draw_imported(cause: Cause, answer: Answer) -> list[Text]:
    """Draw the facts of an import that the answer rests on, with their lines of the file if the commit lists them."""
    notes = cause.edit.notes
    facts = [fact for fact in answer.facts if fact.edit == cause.edit.id] if is_import(notes) else []
    lines = {(triple.subject, triple.relation, triple.object): triple.line for triple in read_rows(notes)}
    texts = []
    for fact in facts:
        line = lines.get((fact.subject, fact.label, fact.object))
        place = f"  line {line:,} of {one_line(str(notes['source']))}" if line else ""
        texts.append(say("triple", f"{fact.subject} · {fact.label} · {fact.object}", place))
    return texts


def _describe_base(answer: Answer) -> str:
    if answer.answer is None:
        return answer.reason_text or "the model declines."
    if answer.upstream:
        return f"a model of the upstream {answer.upstream} answered."
    return f"this is what {answer.model} learnt."


def _draw_match(cause: Cause) -> Text | None:
    """Return the wording that matched, and of which earlier edit where this one took its place."""
    if cause.wording is None or cause.probability is None:
        return None
    origin = "" if cause.owner in (None, cause.edit.id) else f"  of edit {cause.owner}, whose place it took"
    return Text.assemble(cause.wording, (f"  {percent(cause.probability)}{origin}", "dim"))
