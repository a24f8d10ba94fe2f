"""The difference between two versions in words: the edited wordings and the side effects, asked on both."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
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
    old, new = ({edit.id: edit for edit in side.active_records.in_order} for side in (older, newer))
    all_edits = old | new
    differing = sorted(
        (edit for id, edit in all_edits.items() if (id in old) != (id in new)), key=lambda edit: edit.order
    )
    wordings = _edited_wordings(differing, new)
    asked_wordings = [wording for wording in wordings[-MAX_ASKED:] if wording.edit.model in models[0]]
    questions = [(wording.edit.model, [wording.question]) for wording in asked_wordings]
    answers = [await ask_all(side, questions) for side in models]
    changes = [_change(wording, answers) for wording in wordings]
    edits = {edit.id: edit for wording in asked_wordings for edit in (wording.old, wording.new) if edit}
    common_edits = [edit for id, edit in new.items() if id in old][-MAX_ASKED:]
    effects = await side_effects.measure(list(edits.values()), *models, versions, common_edits)
    facts, memory_changes = _changes_without_question(differing, new)
    triples = [edit for edit in differing if edit.triple is not None and edit.model in models[0]]
    if triples:
        views = [side[triples[0].model].memories[triples[0].memory].view for side in models]
        facts += await diff_facts(triples, (views[0], views[1]), bundle.lookup)
        facts.sort(key=lambda fact: all_edits[fact.edit].order)
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


def _edited_wordings(differing: Sequence[EditRecord], new: Collection[str]) -> list[EditedWording]:
    """Return, in ledger order, each wording that only one side edits or that the sides edit differently.

    Args:
        differing: The edits that only one side has, in ledger order.
        new: Ids of the edits of the newer side.
    """
    # On each side, the wordings by model and plain wording, and the last edit that has each
    sides: tuple[dict[tuple[str, str], EditRecord], ...] = ({}, {})
    questions: dict[tuple[str, str], str] = {}
    for edit in sorted(differing, key=lambda edit: edit.id in new):
        for wording in edit.wordings:
            key = edit.model, normalize_question(wording)
            questions[key] = wording
            sides[edit.id in new][key] = edit
    wordings = [
        EditedWording(question, *(side.get(key) for side in sides)) for key, question in questions.items()
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


def _changes_without_question(
    differing: Sequence[EditRecord], new: Collection[str]
) -> tuple[list[FactChange], list[MemoryChange]]:
    """Return the imports, definitions and memories' own changes among edits that only one side has."""
    facts: list[FactChange] = []
    memory_changes: list[MemoryChange] = []
    for edit in differing:
        note = read_note(edit)
        if note is None or edit.triple is not None:
            continue
        change: Literal["added", "removed"] = "added" if edit.id in new else "removed"
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
