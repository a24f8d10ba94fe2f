"""From facts with their names resolved to what each system is to be taught: a triple, or an answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from errata.wire import FactItem, RelationItem

from models.graph.memory import GRAPH
from models.graph.statement import HOLDS, LABEL, RELATION, Statement
from models.graph.view import GraphView
from service.editing.resolving import Meant, listed, spelt
from service.editing.systems import Systems
from service.errors import InvalidInput
from service.graph.formats.text import MAX_RELATION_CHARS
from service.graph.name_resolution import NAME_RELATIONS, resolve_relation
from service.ledger.commit import Triple
from service.measuring.wanted import Wanted

METHOD = "triple"
MOST_TAUGHT = 32  # values of a relation that make up one answer
SAID_ALREADY = "the graph says so already: nothing was written for it"
NO_PHRASING = "nobody knows how to ask for the relation {!r}, so only the graph was changed"
FORGETS_NOT = "{} cannot forget: it goes on giving the answer it gave"
TOO_MANY = "{} values are too many for one answer, so only the graph was changed"


def wanted_of_fact(
    item: FactItem, meant: Meant, place: int, view: GraphView, systems: Systems, methods: Mapping[str, str]
) -> list[Wanted]:
    """One for the graph, and one for each system that learns by questions and answers."""
    known = view.base.relations.get(meant.relation)
    question, *others = [p.replace("{subject}", meant.label) for p in known.phrasings] if known else [""]
    why_not = None if item.only else _only_the_graph(item, meant, bool(known), systems)
    notes = {
        "subject": meant.label,
        "relation": item.relation,
        "object": meant.object,
        "act": meant.act,
        "before": listed(meant.before),
        "after": listed(meant.after),
        "warnings": [*meant.warnings, *([why_not] if why_not else [])],
        **({"only": item.only} if item.only else {}),
    }
    graph = Wanted(
        place=place,
        model=systems.on_graph[0],
        memory=GRAPH,
        method=METHOD,
        question=question,
        answer=listed(sorted(meant.after)),
        wordings_given=tuple(others),
        triple=Triple(meant.subject, meant.relation, meant.object, meant.act),
        told={meant.subject: meant.statements},
        idle=SAID_ALREADY if meant.before == meant.after else None,
        notes=notes,
    )
    if item.only or why_not is not None or meant.relation in NAME_RELATIONS.values():
        return [graph]
    return [graph, *_corrections(graph, ", ".join(sorted(meant.after)), systems, methods)]


def _only_the_graph(item: FactItem, meant: Meant, asked_for: bool, systems: Systems) -> str | None:
    """Why the other systems cannot be taught this fact."""
    if meant.relation in NAME_RELATIONS.values():
        return None
    if not asked_for:
        return NO_PHRASING.format(item.relation)
    if not meant.after:
        return FORGETS_NOT.format(" and ".join(systems.corrected)) if systems.corrected else None
    return TOO_MANY.format(len(meant.after)) if len(meant.after) > MOST_TAUGHT else None


def _corrections(graph: Wanted, answer: str, systems: Systems, methods: Mapping[str, str]) -> list[Wanted]:
    return [
        Wanted(
            place=graph.place,
            model=model,
            memory=systems.of(model).memory,
            method=methods[model],
            question=graph.question,
            answer=answer,
            wordings_given=graph.wordings_given,
        )
        for model in systems.corrected
    ]


def wanted_of_relation(item: RelationItem, place: int, view: GraphView, systems: Systems) -> Wanted:
    """What a relation is, kept in the graph as what is said of the relation itself. Of a cleaned item."""
    relation = resolve_relation(item.define, view)
    if relation in NAME_RELATIONS.values():
        raise InvalidInput(
            f"{item.define!r} is what entities are called by, and no relation", field=f"edits.{place}"
        )
    said = [Statement(HOLDS, item.holds, "", "set")] if item.holds else []
    said += [Statement(LABEL, item.label, "", "set")] if item.label else []
    is_so = item.holds in (None, view.cardinality(relation)) and item.label in (None, view.label(relation))
    given: dict[str, Any] = {"define": relation, "holds": item.holds, "label": item.label}
    return Wanted(
        place=place,
        model=systems.on_graph[0],
        memory=GRAPH,
        method=METHOD,
        question="",
        answer="",
        told={RELATION + relation: tuple(said)},
        idle=SAID_ALREADY if is_so else None,
        notes={name: value for name, value in given.items() if value is not None},
    )


def cleaned_relation(item: RelationItem, place: int) -> RelationItem:
    """As `resolving.cleaned` does of a fact."""
    where = f"edits.{place}"
    name = spelt(f"{where}.define", item.define, MAX_RELATION_CHARS)
    label = spelt(f"{where}.label", item.label) if item.label else None
    return item.model_copy(update={"define": name, "label": label})
