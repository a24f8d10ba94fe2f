"""What a curator reads after a change: which version it made, what each question answers now, and who has it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from rich.console import Group, RenderableType
from rich.text import Text

from errata.cli.render.effects import draw_report
from errata.cli.render.facts import draw_fact, is_import, told_together, triple
from errata.cli.render.text import became, milliseconds, plural, said
from errata.wire import EditReceipt, EditReport, ReplicaState, Report


def draw_receipt(receipt: EditReceipt, done: str) -> RenderableType:
    """done: what the command did, e.g. `version 3 is taken back`."""
    report = receipt.report
    parts: list[RenderableType] = [draw_effects(receipt, done)]
    parts += [Text(f"warning: {one}", style="yellow") for one in report.capacity.warnings]
    parts.append(_costs(report))
    if receipt.version is not None:
        parts.append(Text(f"Take it back: errata revert {receipt.version}", style="dim"))
    return Group(*parts)


def draw_effects(receipt: EditReceipt, done: str) -> Group:
    """What was done and to what, without what it cost."""
    edits = receipt.report.edits
    told = draw_edits(edits) if receipt.kind == "edit" else draw_undone(edits)
    return Group(draw_headline(receipt, done), *told, *draw_report(receipt.report))


def draw_headline(receipt: EditReceipt, done: str) -> Text:
    """In one line: what was done, and who has it."""
    return Text.assemble(_headline(receipt, done), reach(receipt))


def _headline(receipt: EditReceipt, done: str) -> Text:
    edits = receipt.report.edits
    if receipt.version is None and edits and not any(edit.id for edit in edits):
        return Text("Dry run: all of it is answered so already, and would be refused.", style="bold")
    if receipt.version is None:
        return Text(f"Dry run: {done} would do this; nothing was changed.", style="bold")
    return Text(f"Version {receipt.version}: {done}.", style="bold green")


def reach(receipt: EditReceipt) -> Text:
    """Who has it already."""
    replicas = receipt.replicas
    if receipt.version is None:
        return Text()
    if receipt.all_applied:
        return Text(f" {_everyone(len(replicas))} it.")
    if not replicas:
        return Text(" The replicas were not waited for.", style="yellow")
    late = [one for one in replicas if one.version < receipt.version]
    if not late:
        return Text(" Not every replica is running now; each that starts will have it.", style="yellow")
    count = f"{len(late)} of {plural(len(replicas), 'replica')}"
    return Text(f" {count} did not confirm it in time: {_names(late)}.", style="yellow")


def _everyone(replicas: int) -> str:
    known = {1: "The replica has", 2: "Both replicas have"}
    return known.get(replicas, f"All {replicas:,} replicas have")


def _names(replicas: list[ReplicaState]) -> str:
    return ", ".join(f"{one.replica} (at version {one.version})" for one in replicas)


def _costs(report: Report) -> Text:
    spent, room = report.timings, report.capacity
    parts = [f"all edits take {plural(room.slots_used, 'slot')} of {room.slots_reserved:,}"]
    if room.rows_per_slot is not None:
        parts.append(f"{room.rows_per_slot:.2f} rows per slot")
    if room.margin is not None:
        parts.append(f"margin {room.margin:.2f}")
    parts += [
        f"editor {milliseconds(spent.editor_ms)}",
        f"report {milliseconds(spent.report_ms)}",
        f"commit {milliseconds(spent.commit_ms)}",
        f"replicas {milliseconds(spent.replicas_ms)}",
    ]
    return Text(" · ".join(parts), style="dim")


MOST_SHOWN = 10  # edits, or questions, shown one by one; of more, those that went well are only counted


def draw_edits(edits: list[EditReport]) -> list[RenderableType]:
    if len(edits) <= MOST_SHOWN:
        return [line for group in told_together(edits) for line in _group(group)]
    holding = sum(_holds(one) for one in edits)
    count = Text(f"  {holding:,} of {plural(len(edits), 'edit')} hold, in all wordings given.")
    notable = [one for one in edits if not _holds(one) or one.warnings]
    shown = [line for group in told_together(notable[:MOST_SHOWN]) for line in _group(group)]
    more = len(notable) - MOST_SHOWN
    left = (
        [Text(f"  and {more:,} more that fail or are warned of: --json tells them all", "dim")]
        if more > 0
        else []
    )
    return [count, *shown, *left]


def _holds(edit: EditReport) -> bool:
    return edit.holds and all(one.follows for one in edit.paraphrases)


def _group(group: list[EditReport]) -> list[RenderableType]:
    return [*(draw_fact(group) if triple(group[0].notes) else _edit(group[0]))]


def _edit(edit: EditReport) -> list[Text]:
    """The question, what it answered and answers, then the same for each other wording."""
    lines = [wording(edit.question), outcome(edit.holds, edit.before, edit.after, edit.answer)]
    for other in edit.paraphrases:
        lines.append(wording(other.question, also=True))
        lines.append(outcome(other.follows, other.before, other.after, edit.answer))
    return [*lines, *_reach(edit), *warnings(edit)]


def _reach(edit: EditReport) -> list[Text]:
    """Wordings that nobody gave: counted when all follow, else those that do not."""
    if not edit.generated_paraphrases:
        return []
    failing = [one for one in edit.generated_paraphrases if not one.follows]
    count = len(edit.generated_paraphrases)
    if not failing:
        return [Text(f"    ✓ and {plural(count, 'wording')} that nobody gave", style="dim")]
    lines = [
        Text(
            f"    {count - len(failing)} of {plural(count, 'wording')} that nobody gave follow; not these:",
            "dim",
        )
    ]
    for one in failing:
        lines += [wording(one.question, also=True), outcome(False, one.before, one.after, edit.answer)]
    return lines


def wording(question: str, *, also: bool = False) -> Text:
    return Text.assemble(("  also ", "dim"), question) if also else Text(f"  {question}")


def outcome(good: bool, before: str | None, after: str | None, wanted: str) -> Text:
    if good:
        return Text.assemble(("    ✓ ", "green"), became(before, after))
    return Text.assemble(("    ✗ ", "red"), became(before, after), (f"  (wanted: {wanted})", "red"))


def warnings(edit: EditReport) -> list[Text]:
    return [Text(f"    warning: {warning}", style="yellow") for warning in edit.warnings]


class Told(NamedTuple):
    """One wording of `edit`. good: the edit does not speak any more, or it is back and answers."""

    question: str
    before: str | None
    after: str | None
    good: bool
    edit: EditReport


def draw_undone(edits: list[EditReport]) -> list[Text]:
    told = _once(edits)
    if len(told) <= MOST_SHOWN:
        return [line for one in told for line in _draw(one)]
    moved = sum(one.before != one.after for one in told)
    count = Text(f"  {moved:,} of {plural(len(told), 'question')} have another answer now.")
    return [count, *(line for one in told if not one.good for line in _draw(one))]


def _once(edits: list[EditReport]) -> list[Told]:
    """The last of several edits on one question decides it. Two models may answer one question differently."""
    found = {(one.question, one.before, one.after): one for edit in edits for one in _wordings(edit)}
    return list(found.values())


def _wordings(edit: EditReport) -> Iterator[Told]:
    before, after = (
        (edit.before, edit.after) if edit.question else (edit.before or "nothing", edit.after or "nothing")
    )
    yield Told(edit.question or triple(edit.notes), before, after, edit.holds, edit)
    for other in edit.paraphrases:
        yield Told(other.question, other.before, other.after, other.follows, edit)


def _draw(one: Told) -> list[Text]:
    also = one.question not in (one.edit.question, triple(one.edit.notes))
    if is_import(one.edit.notes):
        return [wording(one.question), *warnings(one.edit)]
    stays = one.good and one.before == one.after
    what = _stays(one) if stays else outcome(one.good, one.before, one.after, one.edit.answer)
    return [wording(one.question, also=also), what, *([] if also else warnings(one.edit))]


def _stays(one: Told) -> Text:
    why = ": a later edit decides it" if _overridden(one) else ", as before"
    return Text.assemble("    stays ", said(one.after), why)


def _overridden(one: Told) -> bool:
    """The edit had lost its question before it was taken back, and whatever took it answers here too."""
    edit = one.edit
    return edit.before == edit.after == one.after != edit.answer
