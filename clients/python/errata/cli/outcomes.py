"""What each question of an edit answered before and answers now, and whether that is what was wanted."""

from __future__ import annotations

from rich.console import RenderableType
from rich.text import Text

from errata.cli.triples import draw_fact, told_together, triple
from errata.cli.words import became, plural
from errata.wire import EditReport

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
