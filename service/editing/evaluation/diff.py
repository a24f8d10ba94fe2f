"""What changed between two versions, in words: each wording that an edit gives, and side effects, asked on both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from errata.wire import Change, Diff, FactChange
from errata.wire.wording import normalize_question

from service.editing.evaluation.expectations import ask_all
from service.editing.evaluation.side_effects import SideEffectProbe
from service.editing.models import Answers, ModelsAtVersion
from service.editing.notes import read_note
from service.ledger.commit import EditRecord

MAX_ASKED = 1_000  # wordings of one diff, the newest edits'; of others the edits' own answers are shown


@dataclass(frozen=True)
class EditedWording:
    """A wording, and the edit that has it last on either side; on one of them at least."""

    question: str
    old: EditRecord | None
    new: EditRecord | None

    @property
    def edit(self) -> EditRecord:
        """The edit that made the difference."""
        edit = self.new or self.old
        assert edit is not None, "an edit has the wording on one side"
        return edit

    @property
    def change(self) -> Literal["added", "removed", "replaced"]:
        return "replaced" if self.old and self.new else "added" if self.new else "removed"


async def diff_versions(
    versions: tuple[int, int],
    active: tuple[Sequence[EditRecord], Sequence[EditRecord]],
    models: tuple[ModelsAtVersion, ModelsAtVersion],
    side_effects: SideEffectProbe,
) -> Diff:
    """
    Args:
        active: the edits of each side, in ledger order. models: every model on each side.
    """
    wordings = _edited_wordings(*active)
    asked_wordings = [wording for wording in wordings[-MAX_ASKED:] if wording.edit.model in models[0]]
    questions = [(wording.edit.model, [wording.question]) for wording in asked_wordings]
    answers = [await ask_all(side, questions) for side in models]
    changes = [_change(wording, answers) for wording in wordings]
    edits = {edit.id: edit for wording in asked_wordings for edit in (wording.old, wording.new) if edit}
    on_both = {edit.id for edit in active[0]} & {edit.id for edit in active[1]}
    common_edits = [edit for edit in active[1] if edit.id in on_both][-MAX_ASKED:]
    effects = await side_effects.measure(list(edits.values()), *models, versions, common_edits)
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
        facts=_fact_changes(*active),
        checksums_differ={memory: before[memory] != after[memory] for memory in sorted(before)},
    )


def _edited_wordings(old: Sequence[EditRecord], new: Sequence[EditRecord]) -> list[EditedWording]:
    """Each wording that only one side edits, or each by another edit, in ledger order."""
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


def _change(wording: EditedWording, answers: Sequence[Mapping[str, Answers]]) -> Change:
    """As the models answer; where they were not asked, as the edits have it."""
    edit = wording.edit
    replies = [side.get(edit.model, {}).get(wording.question) for side in answers]
    edit_answers = [owner.answer if owner else None for owner in (wording.old, wording.new)]
    before, after = (
        answer.text if answer else text for answer, text in zip(replies, edit_answers, strict=True)
    )
    return Change(
        question=wording.question,
        before=before,
        after=after,
        is_measured=all(replies),
        edit=edit.id,
        change=wording.change,
        model=edit.model,
    )


def _fact_changes(old: Sequence[EditRecord], new: Sequence[EditRecord]) -> list[FactChange]:
    """What only one side says of the graph, or changes in a memory's own way, in ledger order."""
    before, after = ({edit.id: edit for edit in side if read_note(edit) is not None} for side in (old, new))
    changes = []
    for edit in sorted((before | after).values(), key=lambda edit: edit.order):
        if edit.id in before and edit.id in after:
            continue
        note = read_note(edit)
        assert note is not None
        subject, relation, text, act = note.to_fact(edit)
        changes.append(
            FactChange(
                edit=edit.id,
                subject=subject,
                relation=relation,
                object=text,
                act=act,
                change="added" if edit.id in after else "removed",
            )
        )
    return changes
