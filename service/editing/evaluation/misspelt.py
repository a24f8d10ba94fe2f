"""Names of the graph that the questions of edits may have misspelt: few other wordings follow such an edit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain

from errata.wire import EditReport, Report

from models.system import KnowsWords
from service.editing.draft import Build, one_line
from service.editing.models import Models
from service.errors import JSON, MAX_NAMED, SimilarName
from service.ledger.commit import EditRecord


async def report_misspelt(reports: Sequence[EditReport], build: Build, models: Models) -> list[EditReport]:
    """Add to the reports of new edits the names that their questions may have misspelt, and a warning of each.

    Questions of facts are made of the graph's own names.
    """
    records = {record.id: record for record in build.draft.records if record.question and not record.triple}
    updated_reports = []
    for report in reports:
        names = await _find_similar(records[report.id], build, models) if report.id in records else {}
        similar_names = list(chain.from_iterable(names.values()))
        warnings = [*report.warnings, *(_warn(text, similar) for text, similar in names.items())]
        update = {"similar_names": similar_names, "warnings": warnings}
        updated_reports.append(report.model_copy(update=update))
    return updated_reports


async def _find_similar(edit: EditRecord, build: Build, models: Models) -> Mapping[str, Sequence[str]]:
    """Return the misspelt stretches of an edit's question, and the names of the graph that each resembles."""
    system = models.system(edit.model)
    if not models.fact_memory or not isinstance(system, KnowsWords):
        return {}
    view = build.memories[models.fact_memory].view
    return await models.lookup.find_misspelt(edit.question, view, system.is_common)


def _warn(text: str, names: Sequence[str]) -> str:
    verb = "is" if len(names) == 1 else "are"
    fact = f"no name of the graph is {text!r}, and {one_line(names)} {verb} one letter away"
    return f"{fact}: if it is misspelt, take the edit back and write the question anew"


def check_names(report: Report) -> None:
    """Check that the questions of a draft misspell no name.

    Raises:
        SimilarName: A question names something one letter away from a name of the graph.
    """
    failing = [edit for edit in report.edits if edit.similar_names]
    if not failing:
        return
    first, suffix = failing[0], f" (and {len(failing) - 1:,} more questions)" if len(failing) > 1 else ""
    detail = f"{first.question!r} may misspell {one_line(first.similar_names)}{suffix}"
    advice = "nothing was changed; correct the question, or repeat it without strict if it is right"
    candidates: list[JSON] = [name for edit in failing for name in edit.similar_names]
    place = f"edits.{first.place}.question"
    raise SimilarName(f"{detail}: {advice}", field=place, candidates=candidates[:MAX_NAMED])
