"""What each question of an edit answered before and answers now, and whether that is what was wanted."""

from __future__ import annotations

from rich.text import Text

from errata.cli.words import became, plural
from errata.wire import EditReport

MOST_SHOWN = 10  # edits, or questions, shown one by one; of more, those that went well are only counted


def draw_edits(edits: list[EditReport]) -> list[Text]:
    if len(edits) <= MOST_SHOWN:
        return [line for one in edits for line in _edit(one)]
    failed = [one for one in edits if not _went_well(one)]
    count = Text(
        f"  {len(edits) - len(failed):,} of {plural(len(edits), 'edit')} hold, in all wordings given."
    )
    return [count, *(line for one in failed for line in _edit(one))]


def _went_well(edit: EditReport) -> bool:
    return edit.holds and not edit.warnings and all(one.follows for one in edit.paraphrases)


def _edit(edit: EditReport) -> list[Text]:
    """The question, what it answered and answers, then the same for each other wording."""
    lines = [wording(edit.question), outcome(edit.holds, edit.before, edit.after, edit.answer)]
    for other in edit.paraphrases:
        lines.append(wording(other.question, also=True))
        lines.append(outcome(other.follows, other.before, other.after, edit.answer))
    return [*lines, *warnings(edit)]


def wording(question: str, *, also: bool = False) -> Text:
    return Text.assemble(("  also ", "dim"), question) if also else Text(f"  {question}")


def outcome(good: bool, before: str | None, after: str | None, wanted: str) -> Text:
    if good:
        return Text.assemble(("    ✓ ", "green"), became(before, after))
    return Text.assemble(("    ✗ ", "red"), became(before, after), (f"  (wanted: {wanted})", "red"))


def warnings(edit: EditReport) -> list[Text]:
    return [Text(f"    warning: {warning}", style="yellow") for warning in edit.warnings]
