"""The difference between two versions in words: the edited wordings and the side effects, asked on both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal

from errata.wire import Diff, FactChange, ImportedTriple, MemoryChange, Outcome
from errata.wire.wording import normalize_question

from service.editing.draft import EditorState
from service.editing.evaluation.expectations import ask_all
from service.editing.evaluation.side_effects import SideEffectProbe
from service.editing.evaluation.switched_facts import diff_facts
from service.editing.models import Answers, Models
from service.editing.notes import ChangeNote, ImportNote, read_note
from service.ledger.commit import EditRecord

MAX_ASKED = 1_000  # wordings that a diff asks, the newest edits'; the others show the edits' own answers


@dataclass(frozen=True)
class EditedWording:
    """A wording, and the last edit that has it on each side; at least one side has one."""

    question: str
    old: EditRecord | None
    new: EditRecord | None

    @property
    def edit(self) -> EditRecord:
        """The edit that made the difference."""
        edit = self.new or self.old
        assert edit is not None, "an edit has the wording on one side"
        return edit


async def diff_versions(
    older: EditorState, newer: EditorState, side_effects: SideEffectProbe, bundle: Models
) -> Diff:
    """Compare two versions."""
    versions, models = (older.version, newer.version), (older.models, newer.models)
    active = older.active_records.in_order, newer.active_records.in_order
    wordings = _edited_wordings(*active)
    asked_wordings = [wording for wording in wordings[-MAX_ASKED:] if wording.edit.model in models[0]]
    questions = [(wording.edit.model, [wording.question]) for wording in asked_wordings]
    answers = [await ask_all(side, questions) for side in models]
    changes = [_change(wording, answers) for wording in wordings]
    edits = {edit.id: edit for wording in asked_wordings for edit in (wording.old, wording.new) if edit}
    on_both = {edit.id for edit in active[0]} & {edit.id for edit in active[1]}
    common_edits = [edit for edit in active[1] if edit.id in on_both][-MAX_ASKED:]
    effects = await side_effects.measure(list(edits.values()), *models, versions, common_edits)
    facts, memory_changes = _changes_without_question(*active)
    triples = [edit for edit in _only_on_one_side(*active) if edit.model in models[0]]
    if triples:
        views = [side[triples[0].model].memories[triples[0].memory].view for side in models]
        facts += await diff_facts(triples, (views[0], views[1]), bundle.lookup)
        orders = {edit.id: edit.order for edit in chain(*active)}
        facts.sort(key=lambda fact: orders[fact.edit])
    before, after = (
        {name: m.image.checksum for model in side.values() for name, m in model.memories.items()}
        for side in models
    )
    return Diff(
        from_version=versions[0],
        to_version=versions[1],
        changes=[change for change in changes if change.before != change.after],
        probes=effects.n_compared,
        unmeasured_probes=effects.n_unmeasured,
        side_effects=effects.changed,
        facts=facts,
        memory_changes=memory_changes,
        checksums_differ={memory: before[memory] != after[memory] for memory in sorted(before)},
    )


def _edited_wordings(old: Sequence[EditRecord], new: Sequence[EditRecord]) -> list[EditedWording]:
    """Return, in ledger order, each wording that only one side edits or that the sides edit differently."""
    on_both = {edit.id for edit in old} & {edit.id for edit in new}
    before, after = (  # model and plain wording -> the wording, and the last edit that has it
        {
            (edit.model, normalize_question(wording)): (wording, edit)
            for edit in side
            if edit.id not in on_both
            for wording in edit.wordings
        }
        for side in (old, new)
    )
    questions = {key: wording for key, (wording, _) in {**before, **after}.items()}
    no_owner = ("", None)
    wordings = [
        EditedWording(question, before.get(key, no_owner)[1], after.get(key, no_owner)[1])
        for key, question in questions.items()
    ]
    return sorted(wordings, key=lambda wording: wording.edit.order)


def _change(wording: EditedWording, answers: Sequence[Mapping[str, Answers]]) -> Outcome:
    """Return the change of a wording: the models' answers, or, if they were not asked, the edits' answers."""
    edit = wording.edit
    replies = [side.get(edit.model, {}).get(wording.question) for side in answers]
    edit_answers = [owner.answer if owner else None for owner in (wording.old, wording.new)]
    before, after = (
        answer.text if answer else text for answer, text in zip(replies, edit_answers, strict=True)
    )
    question, is_measured = wording.question, all(replies)
    return Outcome(
        question=question, before=before, after=after, is_measured=is_measured, edit=edit.id, model=edit.model
    )


def _only_on_one_side(old: Sequence[EditRecord], new: Sequence[EditRecord]) -> list[EditRecord]:
    """Return the edits with a triple that only one side has, in ledger order."""
    before, after = ({edit.id: edit for edit in side} for side in (old, new))
    edits = (edit for id, edit in (before | after).items() if (id in before) != (id in after))
    return sorted((edit for edit in edits if edit.triple is not None), key=lambda edit: edit.order)


def _changes_without_question(
    old: Sequence[EditRecord], new: Sequence[EditRecord]
) -> tuple[list[FactChange], list[MemoryChange]]:
    """Return the imports, definitions and memories' own changes that only one side has, in ledger order."""
    before, after = ({edit.id: edit for edit in side} for side in (old, new))
    facts: list[FactChange] = []
    memory_changes: list[MemoryChange] = []
    for edit in sorted((before | after).values(), key=lambda edit: edit.order):
        note = read_note(edit)
        if note is None or edit.triple is not None or (edit.id in before and edit.id in after):
            continue
        change: Literal["added", "removed"] = "added" if edit.id in after else "removed"
        if isinstance(note, ChangeNote):
            memory_changes.append(
                MemoryChange(
                    edit=edit.id, memory=edit.memory, kind=edit.method, summary=note.summary, change=change
                )
            )
        else:
            subject, relation, text, act = note.to_fact()
            triples, rows = (note.triples, note.rows) if isinstance(note, ImportNote) else (1, ())
            facts.append(
                FactChange(
                    edit=edit.id,
                    subject=subject,
                    relation=relation,
                    object=text,
                    act=act,
                    triples=triples,
                    rows=[ImportedTriple.model_validate(triple) for triple in rows],
                    change=change,
                )
            )
    return facts, memory_changes
