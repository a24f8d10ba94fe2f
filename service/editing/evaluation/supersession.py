"""Which earlier edits a new one supersedes: their fact tests are then void, and not broken.

It is not enough that an earlier edit answered the question, which may have been routed to it wrongly. The new edit has
to answer the earlier one's own question as well.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from service.editing.evaluation.expectations import comes_out
from service.editing.models import Answers, ModelsAtVersion
from service.editing.plans.base import Draft
from service.editing.state import EditorState
from service.ledger.commit import EditRecord


async def mark_superseded(state: EditorState, draft: Draft, after: ModelsAtVersion) -> Draft:
    """The draft, with `replaces` in the notes of its edits. after: every model with the draft's edits."""
    earlier = await _answering_edits(state, draft)
    answers = await _ask_questions(state, draft, earlier, after)
    records = []
    for record in draft.records:
        replaces = [
            edit.id
            for edit in earlier[record.id]
            if edit.question
            and record.id in (answer := answers[edit.model][edit.question]).edits
            and comes_out(record, answer)
        ]
        notes = {**record.notes, "replaces": replaces} if replaces else record.notes
        records.append(replace(record, notes=notes) if replaces else record)
    return replace(draft, records=tuple(records))


async def _answering_edits(state: EditorState, draft: Draft) -> dict[str, list[EditRecord]]:
    """New edit -> the edits that answered its question until now."""
    earlier: dict[str, list[EditRecord]] = {record.id: [] for record in draft.records}
    for model, at_version in state.models.items():
        records = [record for record in draft.records if record.question and record.model == model]
        answers = await at_version.ask(record.question for record in records)
        for record in records:
            edits = answers[record.question].edits
            earlier[record.id] = [state.edits[edit] for edit in edits if edit in state.edits]
    return earlier


async def _ask_questions(
    state: EditorState, draft: Draft, earlier: dict[str, list[EditRecord]], after: ModelsAtVersion
) -> dict[str, Answers]:
    """By model, how the earlier edits' own questions are answered with the draft."""
    texts = {edit.id: edit.answer for edit in (*state.edits.values(), *draft.records)}
    wordings: dict[str, list[tuple[str, str, int]]] = defaultdict(list)
    for edits in earlier.values():
        for edit in edits:
            if edit.question:
                wordings[edit.model].append((edit.question, edit.id, 0))
    return {model: await after[model].ask_wordings(batch, texts) for model, batch in wordings.items()}
