"""Edits from a fact with resolved names: a triple of the graph, and the answers that follow from it.

A relation that the pack does not know has no question, so its facts change the graph alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from errata.wire import FactItem, RelationItem

from models.graph.memory import TRIPLE
from models.graph.statement import DETAILS, HOLDS, LABEL, RELATION, Statement
from models.graph.view import GraphView
from models.memory import Memory
from service.editing.draft import one_line
from service.editing.models import Models
from service.editing.notes import FactNote, RelationNote
from service.editing.planned_edit import PlannedEdit
from service.editing.plans.fact_resolver import MAX_VALUES, ResolvedFact, clean_text
from service.errors import InvalidInput
from service.graph.formats.cleaning import MAX_RELATION_CHARS
from service.graph.name_resolution import NAME_RELATIONS, resolve_relation
from service.ledger.commit import Triple

GRAPH_SAYS_SO = "the graph says so already: nothing is written for it"
NO_PHRASING = (
    "no question for the relation {!r} is known: {} from the graph, and {} as before; where that is wrong, correct "
    "the answer itself (said for the first fact of a relation)"
)
CANNOT_FORGET = "{} cannot forget: it goes on giving the answer it gave"
TOO_MANY_VALUES = "{} values are too many for one answer, so only the graph was changed"


def plan_fact(
    item: FactItem,
    fact: ResolvedFact,
    place: int,
    view: GraphView,
    models: Models,
    methods: Mapping[str, str],
) -> list[PlannedEdit]:
    """Plan one edit of the graph, and one of each memory that takes corrected answers."""
    relation, is_name = view.base.relations.get(fact.relation), fact.relation in NAME_RELATIONS.values()
    is_said = relation is None and fact.relation in view.edited_relations
    wordings = relation.phrasings if relation else ("",)
    question, *paraphrases = (wording.replace("{subject}", fact.label) for wording in wordings)
    obstacle = None if item.only else _only_the_graph(item, fact, relation is not None, models)
    names = fact.label, item.relation, fact.object, fact.act
    note = FactNote(
        *names,
        one_line(fact.before.first, fact.before.count),
        one_line(fact.after.first, fact.after.count),
        [*fact.warnings, *([obstacle] if obstacle and not is_said else [])],
        item.only or None,
        None if is_name else fact.object_id,
        item.model_dump(include=set(DETAILS), exclude_defaults=True) or None,
    )
    graph_edit = PlannedEdit(
        place=place,
        model=models.fact_readers[0],
        memory=models.fact_memory,
        method=TRIPLE,
        question=question,
        answer=one_line(fact.after.smallest, fact.after.count),
        given_paraphrases=tuple(paraphrases),
        triple=Triple(fact.subject, fact.relation, fact.object, fact.act),
        statements={fact.subject: fact.statements},
        no_op_reason=GRAPH_SAYS_SO if fact.before == fact.after and not fact.links else None,
        note=note,
    )
    if item.only or obstacle is not None or is_name:
        return [graph_edit]
    answer_edits = (
        PlannedEdit(
            place=place,
            model=model,
            memory=memory.name,
            method=methods[model],
            question=question,
            answer=", ".join(fact.after.smallest),
            given_paraphrases=tuple(paraphrases),
        )
        for model, memory in find_first_models(models).items()
    )
    return [graph_edit, *answer_edits]


def name_answering(models: Iterable[str]) -> str:
    """Return the names of systems with their verb: `nkb answers`, `kbert and relational answer`."""
    names = list(models)
    return f"{' and '.join(names)} answer{'s' if len(names) == 1 else ''}"


def find_first_models(models: Models) -> dict[str, Memory]:
    """Return each model's memory that takes answers; a shared one is listed once, for its first model."""
    first = {memory.name: model for model, memory in reversed(models.answer_memories.items())}
    return {model: m for model, m in models.answer_memories.items() if first[m.name] == model}


def _only_the_graph(item: FactItem, fact: ResolvedFact, has_phrasing: bool, models: Models) -> str | None:
    """Return why no answer can be edited for this fact; None if one can."""
    if fact.relation in NAME_RELATIONS.values():
        return None
    if not has_phrasing:
        names = name_answering(models.fact_readers), name_answering(models.answer_memories)
        return NO_PHRASING.format(item.relation, *names) if models.answer_memories else ""
    if not fact.after.count:
        return CANNOT_FORGET.format(" and ".join(models.answer_memories)) if models.answer_memories else None
    return TOO_MANY_VALUES.format(fact.after.count) if fact.after.count > MAX_VALUES else None


def plan_relation(item: RelationItem, place: int, view: GraphView, models: Models) -> PlannedEdit:
    """Plan the definition of a relation, which the graph keeps as a statement about the relation itself.

    Args:
        item: The definition, as `clean_relation` returns it.
    """
    relation = resolve_relation(item.define, view)
    if relation in NAME_RELATIONS.values():
        raise InvalidInput(
            f"{item.define!r} is what entities are called by, and no relation", field=f"edits.{place}"
        )
    statements = [Statement(HOLDS, item.holds, "", "set")] if item.holds else []
    statements += [Statement(LABEL, item.label, "", "set")] if item.label else []
    has_holds = item.holds is None or (view.is_defined(relation) and item.holds == view.cardinality(relation))
    is_current = has_holds and item.label in (None, view.label(relation))
    return PlannedEdit(
        place=place,
        model=models.fact_readers[0],
        memory=models.fact_memory,
        method=TRIPLE,
        question="",
        answer="",
        statements={RELATION + relation: tuple(statements)},
        no_op_reason=GRAPH_SAYS_SO if is_current else None,
        note=RelationNote(relation, item.holds, item.label),
    )


def clean_relation(item: RelationItem, place: int) -> RelationItem:
    """Clean the texts of a definition as `clean_fact` cleans those of a fact."""
    where = f"edits.{place}"
    name = clean_text(f"{where}.define", item.define, MAX_RELATION_CHARS)
    label = clean_text(f"{where}.label", item.label) if item.label else None
    return item.model_copy(update={"define": name, "label": label})
