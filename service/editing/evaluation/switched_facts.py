"""Facts that a revert or rollback takes back or brings back: what the graph says before and after it."""

from __future__ import annotations

from collections.abc import Sequence

from errata.wire import EditReport

from models.graph.knowledge import Entity
from models.graph.statement import ALIAS, DESCRIPTION, LABEL
from service.editing.draft import Build, one_line
from service.editing.models import Models
from service.ledger.commit import Triple

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
    if entity is None:
        return None
    names = {LABEL: (entity.label,), ALIAS: entity.aliases, DESCRIPTION: (entity.description,)}
    values = names.get(relation) or [fact.object for fact in entity.facts if fact.relation == relation]
    return one_line(values) or None
