"""Questions that resemble an edited one and that the edit does not answer, so that a curator sees where it ends."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from errata.wire import NearQuestion

from service.editing.evaluation.paraphrases import MAX_EDITS_REWORDED
from service.editing.models import ModelsAtVersion
from service.ledger.commit import EditRecord

PER_EDIT = 3


async def find_near_questions(
    edits: Sequence[EditRecord], nearest: Mapping[str, Sequence[str]], after: ModelsAtVersion
) -> dict[str, list[NearQuestion]]:
    """By edit, for the first few: the likeliest of these questions that it is not sure enough to answer.

    Args:
        nearest: model -> known questions that resemble an edited one.
    """
    near: dict[str, list[NearQuestion]] = defaultdict(list)
    ids = {edit.id for edit in edits[:MAX_EDITS_REWORDED]}
    for model in {edit.model for edit in edits if edit.id in ids} & nearest.keys():
        routes = await after[model].route(nearest[model])
        matches = await after[model].find_nearest(nearest[model])
        for question, route, match in zip(nearest[model], routes, matches, strict=True):
            if match is not None and match.edit in ids and route is None:
                near[match.edit].append(NearQuestion(question=question, probability=match.probability))
    return {
        edit: sorted(questions, key=lambda q: -q.probability)[:PER_EDIT] for edit, questions in near.items()
    }
