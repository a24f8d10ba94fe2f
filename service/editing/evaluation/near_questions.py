"""Questions close to an edited one, of the pack and of earlier edits: they show a curator where the edit ends."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from errata.wire import NearQuestion, ParaphraseReport
from errata.wire.wording import normalize_question

from service.editing.draft import Build
from service.editing.evaluation.fact_tests import version_of
from service.editing.evaluation.paraphrases import MAX_EDITS_REWORDED
from service.ledger.commit import EditRecord

PER_EDIT = 3  # questions of the pack that follow, and as many that do not


async def find_near_questions(
    edits: Sequence[EditRecord],
    nearest: Mapping[str, Sequence[str]],
    build: Build,
    rewordings: Mapping[str, Sequence[ParaphraseReport]],
) -> dict[str, list[NearQuestion]]:
    """Return, for the first few edits, the earlier edit and the questions of the pack that are closest to each.

    Args:
        edits: The new edits.
        nearest: The questions of the pack that resemble an edited one, by model.
        build: The draft with the models after it.
        rewordings: Other wordings of each edit that the report has elsewhere.
    """
    edits = [edit for edit in edits if edit.question][:MAX_EDITS_REWORDED]
    near: dict[str, list[NearQuestion]] = defaultdict(list)
    for model in {edit.model for edit in edits}:
        batch = [edit for edit in edits if edit.model == model]
        for id, question in (await _find_earlier(model, batch, build)).items():
            near[id].append(question)
        for id, questions in (
            await _find_in_pack(model, batch, nearest.get(model, ()), build, rewordings)
        ).items():
            near[id] += questions
    return near


async def _find_earlier(model: str, edits: Sequence[EditRecord], build: Build) -> dict[str, NearQuestion]:
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
        id: NearQuestion(
            question=match.question,
            probability=match.probability,
            follows=route == id,
            version=version_of(record),
            answer=record.answer,
        )
        for (id, match), route, record in zip(near.items(), routes, records, strict=True)
    }


async def _find_in_pack(
    model: str,
    edits: Sequence[EditRecord],
    nearest: Sequence[str],
    build: Build,
    rewordings: Mapping[str, Sequence[ParaphraseReport]],
) -> dict[str, list[NearQuestion]]:
    """Return the questions of the pack that each edit answers, and those that it is closest to answering."""
    own_wordings = {
        normalize_question(wording)
        for edit in edits
        for wording in (*edit.wordings, *(other.question for other in rewordings.get(edit.id, ())))
    }
    questions = [question for question in nearest if normalize_question(question) not in own_wordings]
    near: dict[tuple[str, bool], list[NearQuestion]] = defaultdict(list)
    routes = await build.models[model].route(questions)
    matches = await build.models[model].find_nearest(questions)
    for question, route, match in zip(questions, routes, matches, strict=True):
        if match is not None and route in (None, match.edit):
            follows = route is not None
            near[match.edit, follows].append(
                NearQuestion(question=question, probability=match.probability, follows=follows)
            )
    closest = {key: sorted(group, key=lambda q: -q.probability)[:PER_EDIT] for key, group in near.items()}
    return {
        edit.id: [*closest.get((edit.id, True), ()), *closest.get((edit.id, False), ())] for edit in edits
    }
