"""Corrected answers that a newer fact contradicts: the fact takes their place, too.

A relation that the pack does not know has no question. An earlier correction of an answer may be about the same matter
in its own words: it is found by the question that the relation's label makes.
"""

from __future__ import annotations

from collections.abc import Mapping

from errata.wire import FactItem

from models.graph.view import GraphView
from service.editing.draft import EditorState
from service.editing.models import Models
from service.editing.planned_edit import PlannedEdit
from service.editing.plans.fact_resolver import MAX_VALUES, ResolvedFact
from service.editing.plans.facts import find_first_models

QUESTION = "What is the {} of {}?"


async def plan_contradicted(
    facts: Mapping[int, tuple[FactItem, ResolvedFact]],
    state: EditorState,
    view: GraphView,
    models: Models,
    methods: Mapping[str, str],
) -> list[PlannedEdit]:
    """Plan a new answer wherever an active correction answers the question of a fact otherwise."""
    answers: dict[str, tuple[int, str]] = {}
    for place, (item, fact) in facts.items():
        is_known = fact.relation in view.base.relations or fact.relation.startswith("@")
        if item.only is None and not is_known and 0 < fact.after.count <= MAX_VALUES:
            question = QUESTION.format(view.label(fact.relation), fact.label)
            answers[question] = place, ", ".join(fact.after.smallest)
    edits = []
    for model, memory in find_first_models(models).items() if answers else ():
        owners = await state.models[model].route(list(answers))
        edits += [
            PlannedEdit(place, model, memory.name, methods[model], question, answer)
            for (question, (place, answer)), owner in zip(answers.items(), owners, strict=True)
            if owner is not None and state.edits[owner].answer != answer
        ]
    return edits
