"""Which edit took the place of an earlier one: one answer for the log, the check, the worklist and every commit.

An edit of a question is replaced by a later one that answers in its place and lists it in `replaces` of its notes, or
by the last one with the same wording. A fact is replaced if the graph does not say it any more, by the last edit that
set its relation to another value or took its value away, or by the import that did so.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import NamedTuple, TypeAlias

from errata.wire import Outcome
from errata.wire.wording import normalize_question
from more_itertools import chunked

from models.graph.knowledge import Entity, WholeEntity
from models.graph.statement import ALIAS, DESCRIPTION, LABEL, NO_QUALIFIERS, Statement
from service.editing.draft import Build, EditorState
from service.editing.evaluation.expectations import ask_all, ask_edits, returns_expected
from service.editing.models import Answer, Models
from service.editing.planned_edit import TO_REPLACE
from service.errors import LedgerCorrupt, LedgerUnavailable
from service.graph.linking.folding import name_key
from service.ledger.commit import EDITS_PER_COMMIT, IMPORT, EditRecord, Triple
from service.ledger.fold import ActiveRecords

ENTITIES_PER_READ = 10_000

TestKey: TypeAlias = tuple[str, int]


class FactTest(NamedTuple):
    """One wording of an edit; place 0 is the edit's question."""

    record: EditRecord
    place: int

    @property
    def key(self) -> TestKey:
        return self.record.id, self.place

    @property
    def question(self) -> str:
        return self.record.wordings[self.place]

    def holds(self, answer: Answer) -> bool:
        return returns_expected(self.record, answer)

    def report(self, actual: str | None) -> Outcome:
        return Outcome(
            edit=self.record.id,
            version=version_of(self.record),
            question=self.question,
            before=self.record.answer,
            after=actual,
        )


def version_of(edit: EditRecord) -> int:
    """Return the version of the commit that made the edit."""
    return edit.order // EDITS_PER_COMMIT


def is_named(edit: EditRecord, names: Collection[int | str]) -> bool:
    """Return whether names contain the edit's id or the version that made it."""
    return edit.id in names or version_of(edit) in names


class Successors:
    """The active edits that replaced others, directly or through ones that were taken back."""

    def __init__(self, edits: ActiveRecords, tests: Sequence[FactTest]) -> None:
        self._edits, self._tests = edits, tests

    @cached_property
    def _last_by_wording(self) -> Mapping[tuple[str, str], EditRecord]:
        """The last edit that has each wording of the tests, by model and wording."""
        wordings = {normalize_question(test.question) for test in self._tests}
        return {
            (edit.model, wording): edit
            for edit in self._edits.in_order
            for wording in map(normalize_question, edit.wordings)
            if wording in wordings
        }

    @cached_property
    def _replacements(self) -> Mapping[str, Sequence[EditRecord]]:
        """The active edits that replaced each edit, directly or through others, in ledger order."""
        replacing = {
            edit.id: edit
            for edit in reversed(list(self._edits.all_edits.values()))
            if "replaces" in edit.notes
        }
        successors: dict[str, dict[str, None]] = defaultdict(dict)
        for edit in replacing.values():
            for earlier in edit.notes["replaces"]:
                successors[earlier] |= dict.fromkeys((*successors[edit.id], edit.id))
        return {
            earlier: sorted(
                (replacing[id] for id in ids if id in self._edits.ids), key=lambda edit: edit.order
            )
            for earlier, ids in successors.items()
        }

    def is_on_purpose(self, earlier: EditRecord, later: EditRecord) -> bool:
        """Return whether a chain of intended replacements leads from one edit to the other.

        A replacement is intended if the later edit has the earlier one's question or was told to replace it.
        """
        seen_ids, open_ = {earlier.id}, [earlier]
        while open_:
            edit = open_.pop()
            following = [*self._replacements.get(edit.id, ()), later]
            fresh = [other for other in following if other.id not in seen_ids and _is_on_purpose(edit, other)]
            seen_ids |= {other.id for other in fresh}
            open_ += fresh
        return later.id in seen_ids

    def of(self, test: FactTest, answer: Answer | None) -> EditRecord | None:
        """Return the edit that superseded a test: one that replaced its edit and answers, or the last of its wording.

        Args:
            answer: None for a wording that was not asked. Then a replacement is taken to answer, and a value that an
                edit added to others is taken to be there still.
        """
        replacements = self._replacements.get(test.record.id, ())
        if answer is not None:
            replacements = [edit for edit in replacements if edit.id in answer.edits]
        elif test.record.triple is not None and test.record.triple.act == "add":
            return None
        if replacements:
            return replacements[-1]
        last = self._last_by_wording[test.record.model, normalize_question(test.question)]
        return last if last.id != test.record.id else None


def _is_on_purpose(earlier: EditRecord, later: EditRecord) -> bool:
    if is_named(earlier, later.notes.get(TO_REPLACE, ())):
        return True
    return normalize_question(earlier.question) in map(normalize_question, later.wordings)


@dataclass(frozen=True)
class Value:
    """A value of a relation, with the edit that says it, "" where that is not known, and the entity that it is."""

    text: str
    edit: str
    object_id: str
    spelling: str  # its text as a statement has it
    qualifiers: tuple[str, ...] = NO_QUALIFIERS

    def is_of(self, edit: EditRecord, triple: Triple) -> bool:
        """Return whether a fact gives this value."""
        object_id = edit.notes.get("object_id")
        if object_id and self.object_id:
            return bool(object_id == self.object_id)
        return name_key(triple.object) in (name_key(self.text), name_key(self.spelling))


def list_values(entity: Entity | WholeEntity | None, relation: str) -> list[Value]:
    """Return the values of a relation, names too."""
    if entity is None:
        return []
    names = {LABEL: (entity.label,), ALIAS: entity.aliases, DESCRIPTION: (entity.description,)}
    if relation in names:
        return [Value(name, "", "", name) for name in names[relation] if name]
    facts = (fact for fact in entity.facts if fact.relation == relation)
    return [
        Value(fact.object, fact.edit, fact.object_id, fact.statement_object[0], fact.qualifiers)
        for fact in facts
    ]


@dataclass(frozen=True)
class ReplacedFact:
    """A fact that the graph does not say any more, with the values that it says, and the edit that replaced it."""

    edit: EditRecord
    triple: Triple
    values: Sequence[Value]
    by: EditRecord


def is_import(edit: EditRecord | None) -> bool:
    return edit is not None and edit.method == IMPORT


def replaces(statement: Statement, edit: EditRecord, triple: Triple) -> bool:
    """Return whether a statement about a fact's subject sets its relation, or takes its value away."""
    if statement.relation != triple.relation or statement.act not in ("set", "remove"):
        return False
    value = Value(statement.object, "", statement.object_id, statement.object)
    return statement.act == "set" or value.is_of(edit, triple)


async def find_replaced_facts(
    edits: Sequence[EditRecord], state: EditorState, models: Models
) -> list[ReplacedFact]:
    """Return those of these active edits whose facts were replaced; none while rows of the graph cannot be read."""
    facts = [(edit, edit.triple) for edit in edits if edit.triple and edit.triple.act != "remove"]
    replaced_facts = []
    for batch in chunked(facts, ENTITIES_PER_READ):
        view = state.memories[models.fact_memory].view
        try:
            entities = await models.lookup.entities({triple.subject for _, triple in batch}, view)
        except (LedgerUnavailable, LedgerCorrupt):
            return []
        for edit, triple in batch:
            values = list_values(entities[triple.subject], triple.relation)
            if any(value.is_of(edit, triple) for value in values):
                continue
            ids = {value.edit for value in values if is_import(state.edits.get(value.edit))}
            for _, source in view.edits.get(triple.subject, ()):
                if any(replaces(statement, edit, triple) for statement in source.statements):
                    ids.add(source.edit)
            later = [state.edits[id] for id in ids if state.edits[id].order > edit.order]
            if later:
                last = max(later, key=lambda other: other.order)
                replaced_facts.append(ReplacedFact(edit, triple, values, last))
    return replaced_facts


async def find_successors(
    edits: Sequence[EditRecord], state: EditorState, models: Models
) -> dict[str, EditRecord]:
    """Return the active edit that took the place of each of these that is active, where there is one."""
    active = [edit for edit in edits if edit.id in state.active]
    tests = [FactTest(edit, 0) for edit in active if edit.question]
    by_wording = Successors(state.active_records, tests)
    successors = {test.record.id: edit for test in tests if (edit := by_wording.of(test, None)) is not None}
    return successors | {fact.edit.id: fact.by for fact in await find_replaced_facts(active, state, models)}


def _find_targets(record: EditRecord, state: EditorState) -> list[str]:
    """Return the active edits that this one was told to replace."""
    named_edits = state.find_named(record.notes.get(TO_REPLACE, ()), record.memory)
    return [edit.id for edit in named_edits if edit.id in state.active]


async def mark_superseded(build: Build) -> Build:
    """Add to the notes of new edits, as `replaces`, the earlier edits whose fact tests they supersede.

    It is not enough that an earlier edit answered the question, which may have been routed to it wrongly: the new
    edit has to answer the earlier one's question as well. The edits that it was told to replace count in any case.
    """
    state, records = build.state, build.draft.records
    before = await ask_all(state.models, ((edit.model, edit.wordings[:1]) for edit in records))
    earlier = {
        record.id: [
            state.edits[edit]
            for edit in dict.fromkeys(
                [*before[record.model][record.question].edits, *_find_targets(record, state)]
            )
            if edit in state.edits and state.edits[edit].question
        ]
        for record in records
        if record.question
    }
    answers = await ask_edits(build.models, chain.from_iterable(earlier.values()), build.all_edits, 1)
    marked_records = []
    for record in records:
        replaces = [
            edit.id
            for edit in earlier.get(record.id, ())
            if record.id in (answer := answers[edit.model][edit.question]).edits
            and returns_expected(record, answer)
        ]
        marked_records.append(
            replace(record, notes={**record.notes, "replaces": replaces}) if replaces else record
        )
    return replace(build, draft=replace(build.draft, records=tuple(marked_records)))
