"""What an edit is close to: questions of the pack and of earlier edits, and names of the graph one letter away.

Near questions show a curator where the edit ends. Few other wordings follow an edit whose question misspells a name.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import chain

from errata.wire import EditReport, Outcome, Report
from errata.wire.wording import normalize_question

from models.capabilities import KnowsWords
from service.editing.draft import Build, one_line
from service.editing.evaluation.lineage import version_of
from service.editing.evaluation.paraphrases import MAX_EDITS_REWORDED
from service.editing.models import Models
from service.errors import JSON, MAX_NAMED, SimilarName
from service.ledger.commit import EditRecord

LIKELY = 0.5  # probability of asking the same from which two edits with different answers are told of
MAY_CONTRADICT = (
    "version {} answers {!r} with {!r}, and this may be the same question ({:.0%}): name version {} in `replaces` "
    "if it is, and otherwise {!r} in `counterexamples`"
)
PER_EDIT = 3  # questions of the pack that follow, and as many that do not


async def find_near_questions(
    edits: Sequence[EditRecord],
    nearest: Mapping[str, Sequence[str]],
    build: Build,
    rewordings: Mapping[str, Sequence[Outcome]],
) -> dict[str, list[Outcome]]:
    """Return, for the first few edits, the earlier edit and the questions of the pack that are closest to each.

    Args:
        nearest: The questions of the pack that resemble an edited one, by model.
        rewordings: Other wordings of each edit that the report has elsewhere.
    """
    edits = [edit for edit in edits if edit.question][:MAX_EDITS_REWORDED]
    near: dict[str, list[Outcome]] = defaultdict(list)
    for model in {edit.model for edit in edits}:
        batch = [edit for edit in edits if edit.model == model]
        for id, question in (await _find_earlier(model, batch, build)).items():
            near[id].append(question)
        for id, questions in (
            await _find_in_pack(model, batch, nearest.get(model, ()), build, rewordings)
        ).items():
            near[id] += questions
    return near


def find_contradictions(answer: str, near: Sequence[Outcome]) -> list[str]:
    """Return a sentence on each earlier edit that stays, has another answer, and may be about the same question."""
    return [
        MAY_CONTRADICT.format(q.version, q.question, q.after, q.probability, q.version, q.question)
        for q in near
        if q.version is not None and q.after != answer and (q.probability or 0) >= LIKELY
    ]


def describe_near(edit: EditReport, near: Sequence[Outcome]) -> dict[str, object]:
    """Return the fields of a report about what an edit is close to."""
    warnings = [*edit.warnings, *find_contradictions(edit.answer, near)]
    return {"near_questions": list(near), "warnings": warnings}


async def _find_earlier(model: str, edits: Sequence[EditRecord], build: Build) -> dict[str, Outcome]:
    """Return the wording of an earlier edit that each edit is closest to and did not replace."""
    matches = await build.state.models[model].find_nearest([edit.question for edit in edits])
    near = {
        edit.id: match
        for edit, match in zip(edits, matches, strict=True)
        if match is not None
        and match.edit not in edit.notes.get("replaces", ())
        and normalize_question(match.question) not in map(normalize_question, edit.wordings)
    }
    routes = await build.models[model].route([match.question for match in near.values()])
    records = [build.state.edits[match.edit] for match in near.values()]
    return {
        id: Outcome(
            question=match.question,
            probability=match.probability,
            follows=route == id,
            version=version_of(record),
            after=record.answer,
        )
        for (id, match), route, record in zip(near.items(), routes, records, strict=True)
    }


async def _find_in_pack(
    model: str,
    edits: Sequence[EditRecord],
    nearest: Sequence[str],
    build: Build,
    rewordings: Mapping[str, Sequence[Outcome]],
) -> dict[str, list[Outcome]]:
    """Return the questions of the pack that each edit answers, and those that it is closest to answering."""
    own_wordings = {
        normalize_question(wording)
        for edit in edits
        for wording in (*edit.wordings, *(other.question for other in rewordings.get(edit.id, ())))
    }
    questions = [question for question in nearest if normalize_question(question) not in own_wordings]
    near: dict[tuple[str, bool], list[Outcome]] = defaultdict(list)
    routes = await build.models[model].route(questions)
    matches = await build.models[model].find_nearest(questions)
    for question, route, match in zip(questions, routes, matches, strict=True):
        if match is not None and route in (None, match.edit):
            follows = route is not None
            near[match.edit, follows].append(
                Outcome(question=question, probability=match.probability, follows=follows)
            )
    closest = {
        key: sorted(group, key=lambda q: -(q.probability or 0))[:PER_EDIT] for key, group in near.items()
    }
    return {
        edit.id: [*closest.get((edit.id, True), ()), *closest.get((edit.id, False), ())] for edit in edits
    }


async def report_misspelt(reports: Sequence[EditReport], build: Build, models: Models) -> list[EditReport]:
    """Add to the reports of new edits the names that their questions may have misspelt, and a warning of each.

    Questions of facts are made of the graph's own names.
    """
    records = {record.id: record for record in build.draft.records if record.question and not record.triple}
    updated_reports = []
    for report in reports:
        names = await _find_similar(records[report.id], build, models) if report.id in records else {}
        similar_names = list(chain.from_iterable(names.values()))
        warnings = [
            *report.warnings,
            *(
                f"no name of the graph is {text!r}, and {one_line(similar)} {'is' if len(similar) == 1 else 'are'} one "
                "letter away: if it is misspelt, take the edit back and write the question anew"
                for text, similar in names.items()
            ),
        ]
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


def check_names(report: Report) -> None:
    """Check that the questions of a draft misspell no name."""
    failing = [edit for edit in report.edits if edit.similar_names]
    if not failing:
        return
    first, suffix = failing[0], f" (and {len(failing) - 1:,} more questions)" if len(failing) > 1 else ""
    detail = f"{first.question!r} may misspell {one_line(first.similar_names)}{suffix}"
    advice = "nothing was changed; correct the question, or repeat it without strict if it is right"
    candidates: list[JSON] = [name for edit in failing for name in edit.similar_names]
    raise SimilarName(
        f"{detail}: {advice}", field=f"edits.{first.place}.question", candidates=candidates[:MAX_NAMED]
    )
