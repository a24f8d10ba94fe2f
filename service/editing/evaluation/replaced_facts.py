"""Facts of edits that the graph does not say any more, because a later edit or import replaced or removed them."""

from __future__ import annotations

from collections.abc import Sequence

from errata.wire import SupersededTest
from more_itertools import chunked

from models.graph.knowledge import Fact
from models.graph.view import GraphView
from service.editing.draft import one_line
from service.editing.evaluation.fact_tests import TestKey, version_of
from service.editing.notes import FactNote, read_note
from service.graph.linking.folding import fold
from service.graph.lookup import Lookup
from service.ledger.commit import EditRecord, Triple
from service.ledger.fold import ActiveRecords

ENTITIES_PER_READ = 10_000


async def find_replaced_facts(
    edits: ActiveRecords, view: GraphView, lookup: Lookup
) -> dict[TestKey, SupersededTest]:
    """Return a superseded test for each fact that an active edit gave, and that the graph does not say.

    One that an import replaced was not meant to be.
    """
    given_facts = [(edit, edit.triple) for edit in edits.in_order if edit.triple and is_value(edit.triple)]
    tests: dict[TestKey, SupersededTest] = {}
    for batch in chunked(given_facts, ENTITIES_PER_READ):
        entities = await lookup.entities({triple.subject for _, triple in batch}, view)
        for edit, triple in batch:
            entity = entities[triple.subject]
            values = [f for f in entity.facts if f.relation == triple.relation] if entity else []
            successor = find_successor(edit, triple, values, edits, view)
            if successor is not None and not any(is_said(edit, triple, value) for value in values):
                tests[edit.id, 0] = describe_fact(edit, triple, values, successor)
    return tests


def is_value(triple: Triple) -> bool:
    """Return whether an edit gave a value, and neither took one away nor changed a name."""
    return triple.act != "remove" and not triple.relation.startswith("@")


def is_said(edit: EditRecord, triple: Triple, value: Fact) -> bool:
    object_id = edit.notes.get("object_id")
    if object_id and value.object_id:
        return bool(object_id == value.object_id)
    return fold(triple.object) in (fold(value.object), fold(value.statement_object[0]))


def find_successor(
    edit: EditRecord, triple: Triple, values: Sequence[Fact], edits: ActiveRecords, view: GraphView
) -> EditRecord | None:
    """Return the last edit or import after this one that gave the relation another value or took this one away."""
    ids = {value.edit for value in values}
    for _, source in view.edits.get(triple.subject, ()):
        if any(statement.relation == triple.relation for statement in source.statements):
            ids.add(source.edit)
    later = [edits.all_edits[id] for id in ids if id in edits.ids and edits.all_edits[id].order > edit.order]
    return max(later, key=lambda other: other.order, default=None)


def describe_fact(
    edit: EditRecord, triple: Triple, values: Sequence[Fact], successor: EditRecord
) -> SupersededTest:
    note = read_note(edit)
    names = (note.subject, note.relation) if isinstance(note, FactNote) else (triple.subject, triple.relation)
    return SupersededTest(
        edit=edit.id,
        version=version_of(edit),
        question=edit.question or " · ".join(names),
        expected=triple.object,
        actual=one_line([value.object for value in values]) or None,
        by=successor.id,
        by_version=version_of(successor),
        on_purpose=isinstance(read_note(successor), FactNote),
    )


def count_facts(edits: ActiveRecords) -> int:
    """Count the facts of active edits that have no question."""
    return sum(
        edit.triple is not None and not edit.question and is_value(edit.triple) for edit in edits.in_order
    )
