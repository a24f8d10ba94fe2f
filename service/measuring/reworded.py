"""How far new edits reach: the answers before and after to wordings that nobody gave."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from errata.wire import ParaphraseReport

from service.ledger.commit import EditRecord
from service.measuring.rewording import Rewording
from service.measuring.standing import Readings, hear
from service.measuring.wanted import comes_out

MOST_REWORDED = 4  # edits of one request: of a whole file the wordings would cost more than the edits


async def reworded(
    edits: Sequence[EditRecord], rewording: Mapping[str, Rewording], before: Readings, after: Readings
) -> dict[str, list[ParaphraseReport]]:
    """By edit, those of the first few; whoever speaks after the commit is one of these edits or is asked."""
    speakers = {edit.id: edit for edit in edits}
    found: dict[str, list[ParaphraseReport]] = {}
    for edit in [edit for edit in edits if edit.question][:MOST_REWORDED]:
        questions = rewording.get(edit.model, Rewording()).of(edit.question, edit.paraphrases)
        old, new = before[edit.model], after[edit.model]
        await old.ask(questions)
        await hear(questions, speakers, new)
        found[edit.id] = [
            ParaphraseReport(
                question=question,
                before=old.known[question].answer,
                after=new.known[question].answer,
                follows=comes_out(edit, new.known[question].answer, new.known[question].objects),
            )
            for question in questions
        ]
    return found
