"""The receipt of a change: its version, what it replaced, and what each question answers now."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain

from rich.console import Group, RenderableType
from rich.text import Text

from errata.cli.render.effects import (
    draw_replaced,
    draw_replication,
    draw_side_effects,
    draw_surroundings,
    summarize_warnings,
)
from errata.cli.render.graph import describe_change, draw_fact, group_facts, is_fact
from errata.cli.render.text import draw_answer, draw_change, milliseconds, plural
from errata.wire import EditReceipt, EditReport, ParaphraseReport

MAX_SHOWN = 10  # edits, or questions, shown one by one; of more, those that went well are only counted


def draw_receipt(
    receipt: EditReceipt, summary: str, verbose: bool = False, warns: bool = True
) -> RenderableType:
    """Draw the receipt of one change, whose `summary` says what the command did, e.g. `version 3 is taken back`."""
    parts: list[RenderableType] = [draw_outcome(receipt, summary, verbose, warns)]
    parts += summarize_warnings(("", warning) for warning in receipt.report.capacity.warnings)
    if verbose:
        parts.append(_draw_costs(receipt))
    if receipt.version is not None:
        parts.append(Text(f"Take it back: errata revert {receipt.version}", style="dim"))
    return Group(*parts)


def _draw_costs(receipt: EditReceipt) -> Text:
    timings, capacity = receipt.report.timings, receipt.report.capacity
    costs = [f"all edits take {plural(capacity.slots_used, 'slot')} of {capacity.slots_reserved:,}"]
    costs += [f"{name.removesuffix('_ms')} {milliseconds(ms)}" for name, ms in timings]
    return Text(" · ".join(costs), style="dim")


def draw_outcome(
    receipt: EditReceipt, summary: str, verbose: bool = False, warns: bool = True
) -> RenderableType:
    """Draw a receipt without its cost: replaced edits, each edit, other answers, and one line for each warning."""
    report = receipt.report
    lines = draw_edits(report.edits, verbose) if receipt.kind == "edit" else draw_undone(report.edits)
    names_places = len(group_facts(report.edits)) > 1
    warnings = (
        (names_places * (edit.question or describe_change(edit.notes)), warning)
        for edit in report.edits
        for warning in edit.warnings
        if warns
    )
    headline, replacements = draw_headline(receipt, summary), draw_replaced(report, receipt.kind)
    return Group(headline, *replacements, *lines, *draw_side_effects(report), *summarize_warnings(warnings))


def draw_headline(receipt: EditReceipt, summary: str) -> Text:
    """Draw one line: the version, a summary, and which replicas have it."""
    edits = receipt.report.edits
    if receipt.version is not None:
        headline = Text(f"Version {receipt.version}: {summary}.", style="bold green")
    elif edits and not any(edit.id for edit in edits):
        headline = Text("Dry run: all of it is answered so already, and would be refused.", style="bold")
    else:
        headline = Text(f"Dry run: {summary} would do this; nothing was changed.", style="bold")
    return Text.assemble(headline, draw_replication(receipt))


def draw_edits(edits: Sequence[EditReport], verbose: bool = False) -> list[RenderableType]:
    """Draw what each question answered before and answers now; of many edits only those that fail."""
    if len(edits) <= MAX_SHOWN:
        return _draw_groups(edits, verbose)
    failing = [
        edit for edit in edits if not edit.holds or not all(other.follows for other in edit.paraphrases)
    ]
    count = f"  {len(edits) - len(failing):,} of {plural(len(edits), 'edit')} hold, in all wordings given"
    by_memory = Counter(edit.memory for edit in edits)
    if len(by_memory) > 1:  # a fact is an edit of each memory
        count += ": " + ", ".join(f"{n:,} of {memory}" for memory, n in by_memory.items())
    lines: list[RenderableType] = [Text(f"{count}."), *_draw_groups(failing[:MAX_SHOWN], verbose)]
    if len(failing) > MAX_SHOWN:
        rest = f"  and {len(failing) - MAX_SHOWN:,} more that do not: --json lists them"
        lines.append(Text(rest, "dim"))
    return lines


def _draw_groups(edits: Sequence[EditReport], verbose: bool) -> list[RenderableType]:
    lines: list[RenderableType] = []
    for group in group_facts(edits):
        lines += draw_fact(group) if is_fact(group[0].notes) else _draw_edit(group[0], verbose)
    return lines


def _draw_edit(edit: EditReport, verbose: bool) -> list[RenderableType]:
    """Draw the question with its answers, then the examples for and against it, then the questions around it."""
    lines: list[RenderableType] = []
    if "summary" in edit.notes:
        lines.append(Text(f"  {edit.memory}: {describe_change(edit.notes)}"))
    if not edit.question:
        return lines
    lines += [
        _draw_wording(edit.question),
        _draw_reply(edit.holds, edit.before, edit.after, edit.answer),
    ]
    if edit.visitors is not None and edit.visitors.before != edit.before:
        lines.append(Text.assemble(("    visitors heard ", "dim"), draw_answer(edit.visitors.before)))
    if "extends" in edit.notes:
        successor = f"    takes the place of version {edit.notes['extends']}, and keeps what that says"
        lines.append(Text(successor, style="dim"))
    for other in edit.paraphrases:
        lines.append(_draw_wording(other.question, is_paraphrase=True))
        lines.append(_draw_reply(other.follows, other.before, other.after, edit.answer))
    for other in edit.counterexamples:
        lines.append(Text.assemble(("  not ", "dim"), other.question))
        lines.append(_draw_unanswered(other))
    for test in edit.tests:
        sign = ("    ✓ ", "green") if test.follows else ("    ✗ ", "red")
        stays = Text.assemble("stays ", draw_answer(test.after))
        outcome = stays if test.before == test.after else draw_change(test.before, test.after)
        lines += [Text.assemble(("  test ", "dim"), test.question), Text.assemble(sign, outcome)]
    return [*lines, *draw_surroundings(edit, verbose)]


def _draw_unanswered(counterexample: ParaphraseReport) -> Text:
    change = draw_change(counterexample.before, counterexample.after)
    if counterexample.follows:
        return Text.assemble(("    ✗ ", "red"), change, ("  (answered by this edit)", "red"))
    return Text.assemble(("    ✓ ", "green"), change, ("  not by this edit", "dim"))


def _draw_wording(question: str, *, is_paraphrase: bool = False) -> Text:
    return Text.assemble(("  also ", "dim"), question) if is_paraphrase else Text(f"  {question}")


def _draw_reply(good: bool, before: str | None, after: str | None, expected: str) -> Text:
    if good:
        return Text.assemble(("    ✓ ", "green"), draw_change(before, after))
    return Text.assemble(("    ✗ ", "red"), draw_change(before, after), (f"  (wanted: {expected})", "red"))


def draw_undone(edits: Sequence[EditReport]) -> list[RenderableType]:
    """Draw what a revert or a rollback did to each question, once, however many edits on it came or went.

    The last of several edits on one question decides it. Two models may answer one question differently.
    """
    reversals: dict[tuple[str, str | None, str | None], tuple[bool, EditReport]] = {}
    for edit in edits:
        before, after = edit.before, edit.after
        if not edit.question:
            before, after = before or "nothing", after or "nothing"
        reversals[edit.question or describe_change(edit.notes), before, after] = edit.holds, edit
        for other in edit.paraphrases:
            reversals[other.question, other.before, other.after] = other.follows, edit
    if len(reversals) <= MAX_SHOWN:
        return [line for key, value in reversals.items() for line in _draw_reversal(*key, *value)]
    n_changes = sum(before != after for _, before, after in reversals)
    count = Text(f"  {n_changes:,} of {plural(len(reversals), 'question')} have another answer now.")
    failing = [_draw_reversal(*key, good, edit) for key, (good, edit) in reversals.items() if not good]
    return [count, *chain.from_iterable(failing)]


def _draw_reversal(
    question: str, before: str | None, after: str | None, good: bool, edit: EditReport
) -> list[Text]:
    """Draw one question of a revert or a rollback: `good` if the edit no longer answers, or is back and answers."""
    is_paraphrase = question not in (edit.question, describe_change(edit.notes))
    if not edit.question and "object" not in edit.notes:  # no triple either: a relation, an import, a rule
        return [_draw_wording(question)]
    if good and before == after:
        # The edit had lost its question before it was taken back, and whatever took it answers here too.
        is_overridden = edit.before == edit.after == after != edit.answer
        reason = ": a later edit decides it" if is_overridden else ", as before"
        reply = Text.assemble("    stays ", draw_answer(after), reason)
    else:
        reply = _draw_reply(good, before, after, edit.answer)
    return [_draw_wording(question, is_paraphrase=is_paraphrase), reply]
