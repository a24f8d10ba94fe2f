"""What the graph says on two sides of the facts that only one side has: around a revert, and in a diff."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from errata.wire import EditReport, FactChange

from models.graph.knowledge import Entity
from models.graph.statement import ALIAS, DESCRIPTION, LABEL
from models.graph.view import GraphView
from service.editing.draft import Build, one_line
from service.editing.models import Models
from service.editing.notes import FactNote, read_note
from service.graph.lookup import Lookup
from service.ledger.commit import EditRecord, Triple

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
    report: EditReport, triple: Triple, before: Entity | None, after: Entity | None
) -> EditReport:
    """Return the report of a fact with its values on both sides."""
    update: dict[str, object] = {}
    if not report.question:
        update = {"before": _say(before, triple.relation), "after": _say(after, triple.relation)}
    if before and after and before.label != after.id == after.label:
        n_facts = "1 fact of it stays" if after.degree == 1 else f"{after.degree:,} facts of it stay"
        warning = NAMELESS.format(label=before.label, n_facts=n_facts, id=after.id)
        update["warnings"] = [*report.warnings, warning]
    return report.model_copy(update=update)


def _say(entity: Entity | None, relation: str) -> str | None:
    """Return the values of a relation in one line; None without any."""
    return one_line(list(_list_values(entity, relation))) or None


def _list_values(entity: Entity | None, relation: str) -> Mapping[str, str]:
    """Return the values of a relation, names too, each with the edit that says it; "" where that is not known."""
    if entity is None:
        return {}
    names = {LABEL: (entity.label,), ALIAS: entity.aliases, DESCRIPTION: (entity.description,)}
    if relation in names:
        return dict.fromkeys(filter(None, names[relation]), "")
    return {fact.object: fact.edit for fact in entity.facts if fact.relation == relation}


async def diff_facts(
    edits: Sequence[EditRecord], views: tuple[GraphView, GraphView], lookup: Lookup
) -> list[FactChange]:
    """Return the values that only one side has.

    Args:
        edits: The facts that only one side has, in ledger order.
        views: The graph on both sides.
        lookup: Reads it.
    """
    triples = {(edit.triple.subject, edit.triple.relation): edit for edit in edits if edit.triple}
    before, after = [await lookup.entities({subject for subject, _ in triples}, view) for view in views]
    by_id = {edit.id: edit for edit in edits}
    changes = []
    for (subject, relation), last in triples.items():
        old, new = (_list_values(side[subject], relation) for side in (before, after))
        changes += [_change(text, by_id.get(old[text], last), "removed") for text in old if text not in new]
        changes += [_change(text, by_id.get(new[text], last), "added") for text in new if text not in old]
    return changes


def _change(text: str, edit: EditRecord, change: Literal["added", "removed"]) -> FactChange:
    note = read_note(edit)
    assert isinstance(note, FactNote), "an edit with a triple notes a fact"
    return FactChange(
        edit=edit.id,
        subject=note.subject,
        relation=note.relation,
        object=text,
        act=note.act,
        change=change,
    )
