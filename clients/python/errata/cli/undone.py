"""What a revert or a rollback did to each question: told once, however many edits on it came or went."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from rich.text import Text

from errata.cli.outcomes import MOST_SHOWN, outcome, warnings, wording
from errata.cli.triples import is_import, triple
from errata.cli.words import plural, said
from errata.wire import EditReport


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
