"""From facts as they were asked for to what each system is to be taught: the graph a triple, the others an answer.

Names are resolved on one version of the graph; facts of one request see those before them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from errata.wire import Act, FactItem, RelationItem

from models.graph.knowledge import Entity
from models.graph.memory import GRAPH
from models.graph.statement import ALIAS, DESCRIPTION, HOLDS, LABEL, RELATION, Cardinality, Statement
from models.graph.view import GraphView
from service.editing.systems import Systems
from service.editing.wanted import Wanted
from service.errors import InvalidInput, NothingToDo
from service.graph.formats.row import Refused
from service.graph.formats.text import MAX_RELATION_CHARS, clean
from service.graph.linking.folding import fold
from service.graph.linking.words import unlinkable
from service.graph.lookup import Lookup
from service.graph.naming import OWN, meant, new_id, relation_meant
from service.ledger.commit import Triple

METHOD = "triple"
SAID_ALREADY = "the graph says so already: nothing was written for it"
NO_PHRASING = "nobody knows how to ask for the relation {!r}, so only the graph was changed"
NEW_ENTITY = "no entity was called {!r}: a new one was made, {}"
FORGETS_NOT = "{} cannot forget: it goes on giving the answer it gave"
SEVERAL = "{!r} names several entities: the object is kept as a text"


@dataclass(frozen=True)
class Meant:
    """A fact with its names resolved. before, after: the values of its relation, in the graph's order."""

    subject: str
    label: str
    relation: str
    object: str
    object_id: str
    act: Act
    before: tuple[str, ...]
    after: tuple[str, ...]
    warnings: tuple[str, ...]
    is_new: bool


@dataclass
class Resolver:
    """On one version. values, made, holds: what the facts of this request, so far, make of the graph."""

    view: GraphView
    lookup: Lookup
    values: dict[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)
    made: dict[str, str] = field(default_factory=dict)
    holds: dict[str, Cardinality] = field(default_factory=dict)

    def define(self, item: RelationItem) -> None:
        if item.holds is not None:
            self.holds[relation_meant(item.define, self.view)] = item.holds

    async def meant(self, item: FactItem, place: int) -> Meant:
        """Of a cleaned item. Ambiguous, InvalidInput, NothingToDo say what is wrong with it."""
        where = f"edits.{place}"
        relation = relation_meant(item.relation, self.view)
        entity = await meant(item.subject, self.view, self.lookup, f"{where}.subject")
        if entity is not None:
            entity = await self.lookup.whole(entity.id, self.view)
        subject = entity.id if entity else new_id(item.subject)
        is_new = entity is None and subject not in self.made
        warnings = [NEW_ENTITY.format(item.subject, subject)] if is_new else []
        act = item.act or self._act(relation)
        text, object_id, told = await self._object(item, relation)
        text = _as_held(entity, relation, object_id, text)
        known = self.values.get((subject, relation))
        before = _values(entity, relation) if known is None else known
        if act == "remove":
            text = next((value for value in before if fold(value) == fold(text)), "")
            if not text:
                raise _not_there(item, before)
        _check_name(item, relation, where)
        after = _after(before, text, act)
        self.values[subject, relation] = after
        if is_new:
            self.made[subject] = item.subject
        label = entity.label if entity else self.made.get(subject, item.subject)
        return Meant(
            subject, label, relation, text, object_id, act, before, after, (*warnings, *told), is_new
        )

    def _act(self, relation: str) -> Act:
        if relation in (LABEL, DESCRIPTION):
            return "set"
        if relation == ALIAS:
            return "add"
        holds = self.holds.get(relation) or self.view.cardinality(relation)
        return "set" if holds == "one" else "add"

    async def _object(self, item: FactItem, relation: str) -> tuple[str, str, list[str]]:
        """Its text, its id where it is one entity, and what a person should know."""
        if relation in OWN.values():
            return item.object, "", []
        by_id = (await self.lookup.entities([item.object], self.view))[item.object]
        named = [by_id] if by_id else await self.lookup.named(item.object, self.view)
        if len(named) == 1:
            label = named[0].label
            return label if by_id or fold(label) == fold(item.object) else item.object, named[0].id, []
        return item.object, "", [SEVERAL.format(item.object)] if named else []


def cleaned(item: FactItem, place: int) -> FactItem:
    """Its texts in the one spelling that files are read in, too. InvalidInput for what no text may hold."""
    where = f"edits.{place}"
    try:
        subject, text = clean(f"{where}.subject", item.subject), clean(f"{where}.object", item.object)
        relation = clean(f"{where}.relation", item.relation, MAX_RELATION_CHARS)
    except Refused as refused:
        raise InvalidInput(str(refused), field=where) from refused
    return item.model_copy(update={"subject": subject, "relation": relation, "object": text})


def wanted_of_fact(
    item: FactItem, meant: Meant, place: int, view: GraphView, systems: Systems, methods: Mapping[str, str]
) -> list[Wanted]:
    """One for the graph, and one for each system that learns by questions and answers."""
    known = view.base.relations.get(meant.relation)
    question, *others = [p.replace("{subject}", meant.label) for p in known.phrasings] if known else [""]
    warnings = list(meant.warnings)
    if not known and meant.relation not in OWN.values():
        warnings.append(NO_PHRASING.format(item.relation))
    if known and not item.only and not meant.after:
        warnings += [FORGETS_NOT.format(name) for name in systems.corrected]
    graph = Wanted(
        place=place,
        model=systems.on_graph[0],
        memory=GRAPH,
        method=METHOD,
        question=question,
        answer=", ".join(sorted(meant.after)),
        wordings_given=tuple(others),
        triple=Triple(meant.subject, meant.relation, meant.object, meant.act),
        told=_told(meant),
        idle=SAID_ALREADY if meant.before == meant.after else None,
        notes=_notes(item, meant, warnings),
    )
    if item.only or not known or not meant.after:
        return [graph]
    return [graph, *_corrections(graph, systems, methods)]


def _notes(item: FactItem, meant: Meant, warnings: list[str]) -> dict[str, Any]:
    return {
        "subject": meant.label,
        "relation": item.relation,
        "object": meant.object,
        "act": meant.act,
        "before": ", ".join(meant.before),
        "after": ", ".join(meant.after),
        "warnings": warnings,
        **({"only": item.only} if item.only else {}),
    }


def _corrections(graph: Wanted, systems: Systems, methods: Mapping[str, str]) -> list[Wanted]:
    return [
        Wanted(
            place=graph.place,
            model=model,
            memory=systems.of(model).memory,
            method=methods[model],
            question=graph.question,
            answer=graph.answer,
            wordings_given=graph.wordings_given,
        )
        for model in systems.corrected
    ]


def wanted_of_relation(item: RelationItem, place: int, view: GraphView, systems: Systems) -> Wanted:
    """What a relation is, kept in the graph as what is said of the relation itself."""
    relation = relation_meant(item.define, view)
    if relation in OWN.values():
        raise InvalidInput(
            f"{item.define!r} is what entities are called by, and no relation", field=f"edits.{place}"
        )
    said = [Statement(HOLDS, item.holds, "", "set")] if item.holds else []
    said += [Statement(LABEL, item.label, "", "set")] if item.label else []
    is_so = item.holds in (None, view.cardinality(relation)) and item.label in (None, view.label(relation))
    notes = {"define": relation, "holds": item.holds, "label": item.label}
    return Wanted(
        place=place,
        model=systems.on_graph[0],
        memory=GRAPH,
        method=METHOD,
        question="",
        answer="",
        told={RELATION + relation: tuple(said)},
        idle=SAID_ALREADY if is_so else None,
        notes={name: value for name, value in notes.items() if value is not None},
    )


def _told(meant: Meant) -> dict[str, tuple[Statement, ...]]:
    named = (Statement(LABEL, meant.label),) if meant.is_new and meant.relation != LABEL else ()
    return {meant.subject: (*named, Statement(meant.relation, meant.object, meant.object_id, meant.act))}


def _values(entity: Entity | None, relation: str) -> tuple[str, ...]:
    if entity is None:
        return ()
    if relation == LABEL:
        return (entity.label,)
    if relation == ALIAS:
        return entity.aliases
    if relation == DESCRIPTION:
        return (entity.description,) if entity.description else ()
    return tuple(fact.object for fact in entity.facts if fact.relation == relation)


def _as_held(entity: Entity | None, relation: str, object_id: str, text: str) -> str:
    """One entity is one value, whichever of its names was written."""
    facts = entity.facts if entity and object_id else ()
    held = (fact.object for fact in facts if (fact.relation, fact.object_id) == (relation, object_id))
    return next(held, text)


def _after(before: tuple[str, ...], text: str, act: Act) -> tuple[str, ...]:
    if act == "set":
        return (text,)
    if act == "remove":
        return tuple(value for value in before if value != text)
    return before if text in before else (*before, text)


def _not_there(item: FactItem, before: Sequence[str]) -> NothingToDo:
    says = f"it says {', '.join(before)}" if before else "it says nothing of that"
    detail = f"the graph does not say that {item.relation} of {item.subject!r} is {item.object!r}: {says}"
    return NothingToDo(f"{detail}; there is nothing to remove")


def _check_name(item: FactItem, relation: str, where: str) -> None:
    """A name that could never be found in a question, or would be found in every one, is a mistake."""
    if relation not in (LABEL, ALIAS) or item.act == "remove":
        return
    if not fold(item.object):
        raise InvalidInput(
            f"{where}.object: {item.object!r} holds no letter: give a name", field=f"{where}.object"
        )
    reason = unlinkable(item.object)
    if reason is not None and relation == ALIAS:
        raise InvalidInput(
            f"{where}.object: {item.object!r} cannot be an alias: {reason}", field=f"{where}.object"
        )
