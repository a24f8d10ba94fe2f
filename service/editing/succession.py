"""Which earlier edits a new one takes the place of: then their fact tests are void, and not broken.

It is not enough that the question was answered by the earlier edit, which may have spoken out of turn. The new
edit has to answer the earlier one's own question as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from service.ledger.commit import EditRecord
from service.measuring.draft import Draft
from service.measuring.fact_tests import FactTest
from service.measuring.present import Present
from service.measuring.reading import Reading
from service.measuring.standing import tell
from service.measuring.wanted import comes_out


async def succeeding(present: Present, draft: Draft, after: Mapping[str, Reading]) -> Draft:
    """The draft, with `replaces` in the notes of its edits. after: every model with the draft's edits."""
    earlier = {record.id: _spoke(record, present) for record in draft.records}
    tests = [FactTest(edit, 0) for edits in earlier.values() for edit in edits if edit.question]
    await tell(tests, {**present.edits, **{record.id: record for record in draft.records}}, after)
    records = [
        _noted(record, [e.id for e in earlier[record.id] if _answers(record, e, after)])
        for record in draft.records
    ]
    return replace(draft, records=tuple(records))


def _spoke(record: EditRecord, present: Present) -> list[EditRecord]:
    """The edits that answered the question until now."""
    if not record.question:
        return []
    said = present.readings[record.model].known[record.question]
    return [present.edits[key] for key in said.edits if key in present.edits]


def _answers(new: EditRecord, earlier: EditRecord, after: Mapping[str, Reading]) -> bool:
    if not earlier.question:
        return False
    said = after[earlier.model].known[earlier.question]
    return new.id in said.edits and comes_out(new, said.answer, said.objects)


def _noted(record: EditRecord, replaces: list[str]) -> EditRecord:
    return replace(record, notes={**record.notes, "replaces": replaces}) if replaces else record
