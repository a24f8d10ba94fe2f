"""What the graph says on two sides of the facts that only one side has: around a revert, and in a diff."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any, Literal

from errata.wire import EditReport, FactChange

from models.graph.knowledge import WholeEntity
from models.graph.statement import DETAILS
from models.graph.view import GraphView
from service.editing.draft import Build, one_line
from service.editing.evaluation.lineage import Value, list_values
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
    report: EditReport, triple: Triple, before: WholeEntity | None, after: WholeEntity | None
) -> EditReport:
    """Return the report of a fact with its values on both sides."""
    update: dict[str, object] = {}
    if not report.question:
        today = date.today().isoformat()
        for name, side in (("before", before), ("after", after)):
            values = list_values(side.at(today) if side else None, triple.relation)
            update[name] = one_line([*dict.fromkeys(value.text for value in values)]) or None
    if before and after and before.label != after.id == after.label:
        n_facts = "1 fact of it stays" if after.degree == 1 else f"{after.degree:,} facts of it stay"
        warning = NAMELESS.format(label=before.label, n_facts=n_facts, id=after.id)
        update["warnings"] = [*report.warnings, warning]
    return report.model_copy(update=update)


async def diff_facts(
    edits: Sequence[EditRecord], views: tuple[GraphView, GraphView], lookup: Lookup
) -> list[FactChange]:
    """Return the values that only one side has."""
    triples = {(edit.triple.subject, edit.triple.relation): edit for edit in edits if edit.triple}
    before, after = [await lookup.entities({subject for subject, _ in triples}, view) for view in views]
    by_id = {edit.id: edit for edit in edits}
    changes = []
    for (subject, relation), last in triples.items():
        old, new = (
            {(value.text, value.qualifiers): value for value in list_values(side[subject], relation)}
            for side in (before, after)
        )
        old_values = [value for key, value in old.items() if key not in new]
        new_values = [value for key, value in new.items() if key not in old]
        changes += [_describe_switch(value, by_id.get(value.edit), last, "removed") for value in old_values]
        changes += [_describe_switch(value, by_id.get(value.edit), last, "added") for value in new_values]
    return changes


def _describe_switch(
    value: Value, writer: EditRecord | None, last: EditRecord, change: Literal["added", "removed"]
) -> FactChange:
    """Describe a value by the edit that wrote it, if it is one of these, or else by the last of its relation."""
    edit = writer or last
    note = read_note(edit)
    assert isinstance(note, FactNote), "an edit with a triple notes a fact"
    qualifiers: dict[str, Any] = dict(zip(DETAILS, value.qualifiers, strict=False))
    return FactChange(
        edit=edit.id,
        subject=note.subject,
        relation=note.relation,
        object=value.text,
        act=note.act,
        change=change,
        **qualifiers,
        source=(note.qualifiers or {}).get("source", "") if writer else "",
    )
