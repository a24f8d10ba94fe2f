"""Which entity, relation and values a fact is about, on one version of the graph.

Facts of one request see those before them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from errata.wire import Act, FactItem, RelationItem

from models.graph.knowledge import Entity
from models.graph.statement import ALIAS, DESCRIPTION, LABEL, Cardinality, Statement
from models.graph.view import GraphView
from service.errors import ErrataError, InvalidInput, NothingToDo
from service.graph.formats.row import Refused
from service.graph.formats.text import MAX_RELATION_CHARS, clean
from service.graph.linking.folding import fold
from service.graph.linking.words import unlinkable
from service.graph.lookup import Lookup
from service.graph.name_resolution import NAME_RELATIONS, find_free_id, resolve_entity, resolve_relation

NEW_ENTITY = "no entity was called {!r}: a new one was made, {}"
STILL_CALLED = "{!r} stays an alias, so that questions with it find the entity"
SEVERAL = "{!r} names several entities: the object is kept as a text"
ID = re.compile(r"[QP][1-9]\d*|[a-z]{1,5}:\S+")  # what looks like one
MOST_TOLD = 10  # values of a relation in a sentence


@dataclass(frozen=True)
class Meant:
    """A fact with its names resolved. before, after: the values of its relation, in the graph's order.

    statements: what is said of the subject, its name first where it is new.
    """

    subject: str
    label: str
    relation: str
    object: str
    act: Act
    before: tuple[str, ...]
    after: tuple[str, ...]
    statements: tuple[Statement, ...]
    warnings: tuple[str, ...] = ()


@dataclass
class Subject:
    """An entity as the facts of the request so far make it. entity: as the graph has it; None where it is new."""

    id: str
    label: str
    entity: Entity | None
    values: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def held(self, relation: str) -> tuple[str, ...]:
        return self.values.get(relation, _values(self.entity, relation))


@dataclass
class Resolver:
    """On one version. known: subjects of the request so far, by id and by every name that they were called by."""

    view: GraphView
    lookup: Lookup
    known: dict[str, Subject] = field(default_factory=dict)
    holds: dict[str, Cardinality] = field(default_factory=dict)

    @contextmanager
    def whole(self) -> Iterator[None]:
        """A fact that is refused leaves no trace of itself for those after it."""
        known, holds = dict(self.known), dict(self.holds)
        try:
            yield
        except ErrataError:
            self.known, self.holds = known, holds
            raise

    def define(self, item: RelationItem) -> None:
        if item.holds is not None:
            self.holds[resolve_relation(item.define, self.view)] = item.holds

    async def meant(self, item: FactItem, place: int) -> Meant:
        """Of a cleaned item. Ambiguous, InvalidInput, NothingToDo say what is wrong with it."""
        where = f"edits.{place}"
        relation = resolve_relation(item.relation, self.view)
        act = item.act or self._act(relation)
        _check_name(item, relation, where)
        subject, warnings = await self._subject(item.subject, f"{where}.subject")
        text, object_id, told = await self._object(item, relation)
        before = subject.held(relation)
        if act == "remove":
            text, said = _removed(item, subject, relation, text, object_id, before)
        else:
            text = _as_held(subject.entity, relation, object_id, text)
            said = (Statement(relation, text, object_id, act),)
        if warnings and relation != LABEL:
            said = (Statement(LABEL, subject.label), *said)
        if relation == LABEL and act == "set" and subject.entity and text != subject.label:
            said = (*said, Statement(ALIAS, subject.label))
            told = [*told, STILL_CALLED.format(subject.label)]
        after = _after(before, text, act)
        subject.values[relation] = after
        if relation in (LABEL, ALIAS) and act != "remove":
            self.known[fold(text)] = subject
        return Meant(subject.id, subject.label, relation, text, act, before, after, said, (*warnings, *told))

    async def _subject(self, name: str, where: str) -> tuple[Subject, list[str]]:
        """And a warning where it is new."""
        known = self.known.get(name) or self.known.get(fold(name))
        if known is not None:
            return known, []
        entity = await resolve_entity(name, self.view, self.lookup, where)
        if entity is not None:
            if entity.id not in self.known:
                whole = await self.lookup.load_entity(entity.id, self.view)
                self.known[entity.id] = Subject(entity.id, entity.label, whole)
            return self.known[entity.id], []
        if ID.fullmatch(name):
            detail = f"{where}: the graph has no entity {name}: import it, or write the name of a new one"
            raise InvalidInput(detail, field=where)
        id, nameless = await find_free_id(name, self.view, self.lookup)
        made = Subject(id, name, nameless)
        self.known[id] = self.known[fold(name)] = made
        return made, [NEW_ENTITY.format(name, id)]

    def _act(self, relation: str) -> Act:
        holds = self.holds.get(relation) or self.view.cardinality(relation)
        return "set" if holds == "one" else "add"

    async def _object(self, item: FactItem, relation: str) -> tuple[str, str, list[str]]:
        """Its text, its id where it is one entity, and what a person should know."""
        if relation in NAME_RELATIONS.values():
            return item.object, "", []
        by_id = (await self.lookup.entities([item.object], self.view))[item.object]
        named = [by_id] if by_id else await self.lookup.entities_named(item.object, self.view)
        if len(named) == 1:
            label = named[0].label
            return label if by_id or fold(label) == fold(item.object) else item.object, named[0].id, []
        return item.object, "", [SEVERAL.format(item.object)] if named else []


def cleaned(item: FactItem, place: int) -> FactItem:
    """Its texts in the one spelling that files are read in, too. InvalidInput for what no text may hold."""
    where = f"edits.{place}"
    subject, text = spelt(f"{where}.subject", item.subject), spelt(f"{where}.object", item.object)
    relation = spelt(f"{where}.relation", item.relation, MAX_RELATION_CHARS)
    return item.model_copy(update={"subject": subject, "relation": relation, "object": text})


def spelt(where: str, text: str, *most: int) -> str:
    try:
        return clean(where, text, *most)
    except Refused as refused:
        raise InvalidInput(str(refused), field=where) from refused


def listed(values: Sequence[str]) -> str:
    """In one line, not all of very many."""
    more = f" and {len(values) - MOST_TOLD:,} more" if len(values) > MOST_TOLD else ""
    return ", ".join(values[:MOST_TOLD]) + more


def _values(entity: Entity | None, relation: str) -> tuple[str, ...]:
    if entity is None:
        return ()
    if relation == LABEL:
        return (entity.label,)
    if relation == ALIAS:
        return entity.aliases
    if relation == DESCRIPTION:
        return (entity.description,) if entity.description else ()
    return tuple(dict.fromkeys(fact.object for fact in entity.facts if fact.relation == relation))


def _as_held(entity: Entity | None, relation: str, object_id: str, text: str) -> str:
    """One entity is one value, whichever of its names was written."""
    facts = entity.facts if entity and object_id else ()
    held = (fact.object for fact in facts if (fact.relation, fact.object_id) == (relation, object_id))
    return next(held, text)


def _removed(
    item: FactItem, subject: Subject, relation: str, text: str, object_id: str, before: Sequence[str]
) -> tuple[str, tuple[Statement, ...]]:
    """The value as the graph spells it, and what takes it away: every entity that is called so, and the text."""
    held = _as_held(subject.entity, relation, object_id, text)
    gone = next((value for value in before if fold(value) == fold(held)), None)
    if gone is None:
        raise _not_there(item, before)
    facts = subject.entity.facts if subject.entity else ()
    ids = {f.object_id for f in facts if (f.relation, f.object) == (relation, gone) and f.object_id}
    ids |= {object_id} - {""}
    said = (Statement(relation, gone, id, "remove") for id in sorted(ids))
    return gone, (*said, Statement(relation, gone, "", "remove"))


def _after(before: tuple[str, ...], text: str, act: Act) -> tuple[str, ...]:
    if act == "set":
        return (text,)
    if act == "remove":
        return tuple(value for value in before if value != text)
    return before if text in before else (*before, text)


def _not_there(item: FactItem, before: Sequence[str]) -> NothingToDo:
    says = f"it says {listed(before)}" if before else "it says nothing of that"
    detail = f"the graph does not say that {item.relation} of {item.subject!r} is {item.object!r}: {says}"
    return NothingToDo(f"{detail}; there is nothing to remove")


def _check_name(item: FactItem, relation: str, where: str) -> None:
    """A name that could never be found in a question, or would be found in every one, is a mistake."""
    if relation not in (LABEL, ALIAS) or item.act == "remove":
        return
    place = f"{where}.object"
    if not fold(item.object):
        raise InvalidInput(f"{place}: {item.object!r} holds no letter: give a name", field=place)
    reason = unlinkable(item.object)
    if reason is not None and relation == ALIAS:
        raise InvalidInput(f"{place}: {item.object!r} cannot be an alias: {reason}", field=place)
