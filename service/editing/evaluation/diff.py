"""The difference between two versions in words: the edited wordings and the side effects, asked on both.

What the graph says on two sides of the facts that only one side has: around a revert, and in a diff.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal

from errata.wire import Diff, EditReport, FactChange, ImportedTriple, MemoryChange, Outcome
from errata.wire.wording import normalize_question

from models.graph.knowledge import WholeEntity
from models.graph.view import GraphView
from service.editing.draft import Build, EditorState, one_line
from service.editing.evaluation.expectations import ask_all
from service.editing.evaluation.lineage import list_values
from service.editing.evaluation.side_effects import SideEffectProbe
from service.editing.models import Answers, Models
from service.editing.notes import ChangeNote, FactNote, ImportNote, read_note
from service.graph.lookup import Lookup
from service.ledger.commit import EditRecord, Triple

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


NAMELESS = (
    "{label} has no name any more after this, so that no search and no question finds it; {n_facts} under {id}: "
    "take what is left of it back, too, or give {id} a `label`"
)


async def report_switched(reports: Sequence[EditReport], build: Build, models: Models) -> list[EditReport]:
    """Add to the reports of old facts the values on both sides, and a warning where an entity loses its name."""
    edits = {edit.id: edit.triple for edit in build.old_edits if edit.triple is not None}
    triples = [edits.get(report.id) for report in reports]
    ids = {triple.subject for triple in triples if triple is not None}
    if not ids:
        return list(reports)
    views = [side[models.fact_memory].view for side in (build.state.memories, build.memories)]
    before, after = [await models.lookup.entities(ids, view) for view in views]
    return [
        report
        if triple is None
        else report_fact(report, triple, before[triple.subject], after[triple.subject])
        for report, triple in zip(reports, triples, strict=True)
    ]


def report_fact(
    report: EditReport, triple: Triple, before: WholeEntity | None, after: WholeEntity | None
) -> EditReport:
    """Return the report of a fact with its values on both sides."""
    update: dict[str, object] = {}
    if not report.question:
        texts = [one_line(list(_list_values(side, triple.relation))) or None for side in (before, after)]
        update = dict(zip(("before", "after"), texts, strict=True))
    if before and after and before.label != after.id == after.label:
        n_facts = "1 fact of it stays" if after.degree == 1 else f"{after.degree:,} facts of it stay"
        warning = NAMELESS.format(label=before.label, n_facts=n_facts, id=after.id)
        update["warnings"] = [*report.warnings, warning]
    return report.model_copy(update=update)


def _list_values(entity: WholeEntity | None, relation: str) -> Mapping[str, str]:
    """Return the values of a relation, each with the edit that says it; "" where that is not known."""
    return {value.text: value.edit for value in list_values(entity, relation)}


async def diff_facts(
    edits: Sequence[EditRecord], views: tuple[GraphView, GraphView], lookup: Lookup
) -> list[FactChange]:
    """Return the values that only one side has."""
    triples = {(edit.triple.subject, edit.triple.relation): edit for edit in edits if edit.triple}
    before, after = [await lookup.entities({subject for subject, _ in triples}, view) for view in views]
    by_id = {edit.id: edit for edit in edits}
    changes = []
    for (subject, relation), last in triples.items():
        old, new = (_list_values(side[subject], relation) for side in (before, after))
        changes += [
            _describe_switch(text, by_id.get(old[text]), last, "removed") for text in old if text not in new
        ]
        changes += [
            _describe_switch(text, by_id.get(new[text]), last, "added") for text in new if text not in old
        ]
    return changes


def _describe_switch(
    text: str, writer: EditRecord | None, last: EditRecord, change: Literal["added", "removed"]
) -> FactChange:
    """Describe a value by the edit that wrote it, if it is one of these, or else by the last of its relation."""
    edit = writer or last
    note = read_note(edit)
    assert isinstance(note, FactNote), "an edit with a triple notes a fact"
    qualifiers: dict[str, Any] = dict(note.qualifiers or {}) if writer else {}
    return FactChange(
        edit=edit.id,
        subject=note.subject,
        relation=note.relation,
        object=text,
        act=note.act,
        change=change,
        **qualifiers,
    )
