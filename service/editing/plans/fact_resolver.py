"""Resolves the names of a fact: its entity, relation and values, on one version of the graph.

A fact of a request sees the facts before it.
"""

from __future__ import annotations

import re
from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cached_property
from itertools import islice

from errata.wire import Act, FactItem, RelationItem

from models.graph.knowledge import WholeEntity
from models.graph.periods import UNKNOWN, holds, is_possible, is_reversed
from models.graph.statement import (
    ALIAS,
    DESCRIPTION,
    LABEL,
    NO_DETAILS,
    NO_QUALIFIERS,
    Cardinality,
    Statement,
)
from models.graph.view import GraphView
from models.scope.spelling import resembling
from service.editing.draft import one_line
from service.errors import AddOrSet, ErrataError, InvalidInput, NothingToDo, SimilarName
from service.graph.formats.cleaning import MAX_RELATION_CHARS, clean
from service.graph.formats.row import Refused
from service.graph.linking.folding import name_key, search_key
from service.graph.linking.words import unlinkable
from service.graph.lookup import Lookup
from service.graph.name_resolution import (
    NAME_RELATIONS,
    ambiguous_name,
    find_free_id,
    resolve_entity,
    resolve_relation,
)

NEW_ENTITY = "no entity had the name {!r}: it is a new one, {}"
STILL_CALLED = "{!r} stays an alias, so that questions with it find the entity"
AMBIGUOUS_OBJECT = "{!r} names several entities: the object is kept as a text"
KEEP_TEXT = ", or say `create` to keep the object as a text"
MAX_VALUES = 32  # values of a relation that make up one answer
MAX_SIMILAR = 20  # names that a problem document lists
ID_PATTERN = re.compile(r"[QP][1-9]\d*|[a-z]{1,5}:\S+")  # texts that look like an id


@dataclass(frozen=True)
class Values:
    """How many values a relation has at one moment, and the first ones of very many."""

    count: int
    first: tuple[str, ...]  # in the graph's order
    smallest: tuple[str, ...]  # in that of the alphabet


class CurrentValues:
    """The values of a relation while facts change them; each change takes the same time, however many there are."""

    def __init__(self, texts: Iterable[str]) -> None:
        self.texts: dict[str, None] = {}  # in the graph's order
        self._sorted: list[str] = []
        self._by_fold: dict[str, dict[str, None]] = defaultdict(dict)
        for text in texts:
            self.add(text)

    def add(self, text: str) -> None:
        if text not in self.texts:
            self.texts[text] = self._by_fold[name_key(text)][text] = None
            insort(self._sorted, text)

    def discard(self, text: str) -> None:
        if text in self.texts:
            del (
                self.texts[text],
                self._by_fold[name_key(text)][text],
                self._sorted[bisect_left(self._sorted, text)],
            )

    def find(self, text: str) -> str | None:
        """Return the first value with this text, perhaps in other letters."""
        return next(iter(self._by_fold.get(name_key(text), ())), None)

    def describe(self) -> Values:
        first, smallest = tuple(islice(self.texts, MAX_VALUES)), tuple(self._sorted[:MAX_VALUES])
        return Values(len(self.texts), first, smallest)


@dataclass(frozen=True)
class ResolvedFact:
    subject: str
    label: str
    relation: str
    object: str
    act: Act
    before: Values  # the values of its relation
    after: Values  # the same with the fact
    # Statements about the subject that are written. Its name comes first if edits defined it, so that it
    # lasts as long as any fact about it.
    statements: tuple[Statement, ...]
    warnings: tuple[str, ...] = ()
    object_id: str = ""  # the entity that the object is; "" for a text
    # Whether a value that was a text, or another entity of the same name, becomes this entity
    links: bool = False


@dataclass
class Subject:
    id: str
    label: str
    entity: WholeEntity | None  # the entity as the graph has it; None for a new one
    # Values of the relations that the request has named, by relation and day, and of those that it has changed
    read_values: dict[tuple[str, str], CurrentValues] = field(default_factory=dict)
    values: dict[str, CurrentValues] = field(default_factory=dict)

    def current(self, relation: str, as_of: str) -> CurrentValues:
        """Return the values of a relation on a day, or with "" those of all times."""
        key = relation, as_of
        if relation not in self.values and key not in self.read_values:
            self.read_values[key] = CurrentValues(self._values_in_graph(relation, as_of))
        return self.values[relation] if relation in self.values else self.read_values[key]

    def _values_in_graph(self, relation: str, as_of: str) -> Iterable[str]:
        if self.entity is None:
            return ()
        if relation == LABEL:
            return (self.entity.label,)
        if relation == ALIAS:
            return self.entity.aliases
        if relation == DESCRIPTION:
            return (self.entity.description,) if self.entity.description else ()
        entity = self.entity.at(as_of) if as_of else self.entity
        return (fact.object for fact in entity.facts if fact.relation == relation)

    def says(self, statement: Statement, text: str, as_of: str) -> bool:
        """Return whether a value is said on a day with a new statement: by it, or by one that it does not replace."""
        is_asked = (
            self.entity is not None and statement.act == "add" and statement.relation not in self.values
        )
        facts = self.entity.at(as_of).facts if self.entity and is_asked else ()
        place = statement.begin, statement.time, statement.unit
        beside = [fact for fact in facts if (fact.begin, fact.time, fact.unit) != place]
        periods = [
            fact for fact in beside if fact.qualifiers != NO_QUALIFIERS
        ]  # a plain one is said more exactly
        return holds(statement, as_of) or any(
            (fact.relation, fact.object) == (statement.relation, text) for fact in periods
        )

    def says_as_another(self, relation: str, text: str, object_id: str) -> bool:
        """Return whether the graph has a value with this text that is not this entity, as a text for example."""
        facts = self.entity.facts if self.entity and relation not in self.values else ()
        ids = {fact.object_id for fact in facts if (fact.relation, fact.object) == (relation, text)}
        return bool(ids) and object_id not in ids


@dataclass
class FactResolver:
    view: GraphView
    lookup: Lookup
    # Subjects of the request so far, by id and by each of their names
    subjects: dict[str, Subject] = field(default_factory=dict)
    ids: dict[str, str] = field(default_factory=dict)  # names that the request uses -> entities of the graph
    # Definitions of relations of the request so far
    holds: dict[str, Cardinality] = field(default_factory=dict)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Forget the subjects of a refused fact, which has changed nothing else."""
        n_subjects = len(self.subjects)
        try:
            yield
        except ErrataError:
            while len(self.subjects) > n_subjects:
                self.subjects.popitem()
            raise

    def define(self, item: RelationItem) -> None:
        if item.holds is not None:
            relation = resolve_relation(item.define, self.view)
            self.holds[relation] = item.holds
            self._relations_in_use.setdefault(name_key(relation), relation)

    @cached_property
    def _relations_in_use(self) -> dict[str, str]:
        """The relations by their folded ids and labels."""
        in_use = {name_key(id): id for id in self.view.relations}
        return in_use | {name_key(item.label): item.id for item in self.view.base.relations.values()}

    async def resolve(self, item: FactItem, place: int) -> ResolvedFact:
        """Resolve a cleaned item.

        Raises:
            Ambiguous: A name means several entities, that of a new object too.
            NothingToDo: The value that it removes is not in the graph.
        """
        where, today = f"edits.{place}", date.today().isoformat()
        relation = resolve_relation(item.relation, self.view)
        cardinality = self.holds.get(relation) or self.view.cardinality(relation)
        act: Act = item.act or ("set" if cardinality == "one" and not item.end else "add")
        _check_name(item, relation, where)
        if not item.create:
            self._check_relation(item.relation, relation, f"{where}.relation")
        subject, warnings = await self._subject(item.subject, f"{where}.subject", item.create)
        values = subject.current(relation, "" if act == "remove" else today)
        before = values.describe()
        text, object_id, object_warnings = await self._object(item, relation, values, f"{where}.object")
        is_defined = relation in self.holds or self.view.is_defined(relation)
        is_other = bool(values.texts) and text not in values.texts
        if is_other and item.act is None and not is_defined and not item.end:
            raise _add_or_set(item, list(values.texts), where)
        if act == "remove":
            text, statements = _removal(item, subject, values, relation, text, object_id)
        else:
            text, statements = _assertion(
                item, subject.entity, Statement(relation, text, object_id, act), where
            )
        if relation != LABEL and warnings:
            statements = (Statement(LABEL, subject.label), *statements)
        elif relation != LABEL and act != "remove" and self.is_defined_by_edits(subject):
            statements = (Statement(LABEL, subject.label, "", "default"), *statements)
        if relation == LABEL and act == "set" and subject.entity and text != subject.label:
            statements = (*statements, Statement(ALIAS, subject.label))
            object_warnings = [*object_warnings, STILL_CALLED.format(subject.label)]
        links = act != "remove" and object_id != "" and subject.says_as_another(relation, text, object_id)
        links = links or statements[-1].details != NO_DETAILS
        if act == "set":
            values = CurrentValues([])
        is_said = act != "remove" and subject.says(statements[-1], text, today)
        (values.add if is_said else values.discard)(text)
        subject.values[relation] = values
        if relation in (LABEL, ALIAS) and act != "remove":
            self.subjects[name_key(text)] = subject
        warnings = [*warnings, *object_warnings]
        names = subject.id, subject.label, relation, text
        after = values.describe()
        return ResolvedFact(*names, act, before, after, statements, tuple(warnings), object_id, links)

    def with_object(self, fact: ResolvedFact) -> ResolvedFact:
        """Return the fact with the entity that its object is after all facts of the request."""
        later = self.subjects.get(name_key(fact.object))
        return replace(fact, object_id=later.id) if later and not fact.object_id else fact

    def _check_relation(self, name: str, relation: str, where: str) -> None:
        if relation in NAME_RELATIONS.values() or name_key(relation) in self._relations_in_use:
            return
        in_use = self._relations_in_use
        similar = sorted({in_use[key] for key in resembling(name_key(name)) if key in in_use})
        if similar:
            raise similar_name(f"the relation {name!r} is new", similar, where)

    def is_defined_by_edits(self, subject: Subject) -> bool:
        """Return whether an edit, perhaps of this request, defined the subject, so that each fact has to name it."""
        is_new = subject.entity is None or subject.entity.label == subject.id
        return subject.label != subject.id and (is_new or self.view.is_defined_by_edits(subject.id))

    async def _subject(self, name: str, where: str, create: bool) -> tuple[Subject, list[str]]:
        candidates = (self.subjects.get(key) for key in (name, name_key(name), self.ids.get(name, "")))
        if subject := next(filter(None, candidates), None):
            return subject, []
        entity = await resolve_entity(name, self.view, self.lookup, where, with_accents=create)
        if entity is not None:
            self.ids[name] = entity.id
            if entity.id not in self.subjects:
                complete = await self.lookup.load_entity(entity.id, self.view)
                self.subjects[entity.id] = Subject(entity.id, entity.label, complete)
            return self.subjects[entity.id], []
        if await self._is_object(name):
            self.subjects[name] = Subject(name, name, None)
            return self.subjects[name], []
        if ID_PATTERN.fullmatch(name):
            raise InvalidInput(
                f"{where}: the graph has no entity {name}: import it, or write the name of a new one",
                field=where,
            )
        if not create:
            similar = await self.lookup.entities_by_name(list(resembling(name_key(name))), self.view)
            labels = sorted({entity.label for entities in similar.values() for entity in entities})
            if labels:
                raise similar_name(f"no entity is called {name!r}", labels, where)
        id, nameless = await find_free_id(name, self.view, self.lookup)
        subject = Subject(id, name, nameless)
        self.subjects[id] = self.subjects[name_key(name)] = subject
        return subject, [NEW_ENTITY.format(name, id)]

    async def _is_object(self, id: str) -> bool:
        """Return whether the graph knows an id only as the object of facts."""
        return ID_PATTERN.fullmatch(id) is not None and await self.lookup.is_object(id, self.view)

    async def _object(
        self, item: FactItem, relation: str, values: CurrentValues, where: str
    ) -> tuple[str, str, list[str]]:
        """Return the object's text, its id if it is one entity, and warnings.

        Raises:
            Ambiguous: The text is a new value, and several entities have this name.
        """
        if relation in NAME_RELATIONS.values():
            return item.object, "", []
        fresh = self.subjects.get(item.object) or self.subjects.get(name_key(item.object))
        by_id = (await self.lookup.entities([item.object], self.view))[item.object]
        entities = [by_id] if by_id else await self.lookup.entities_named(item.object, self.view)
        if len(entities) == 1:
            label = entities[0].label
            is_label = by_id is not None or search_key(label) == search_key(item.object)
            return label if is_label else item.object, entities[0].id, []
        if not entities and await self._is_object(item.object):
            return item.object, item.object, []
        if fresh is not None and not entities:
            return fresh.label if item.object == fresh.id else item.object, fresh.id, []
        if entities and not item.create and item.object not in values.texts:
            raise ambiguous_name(item.object, entities, where, KEEP_TEXT)
        return item.object, "", [AMBIGUOUS_OBJECT.format(item.object)] if entities else []


def _assertion(
    item: FactItem, entity: WholeEntity | None, statement: Statement, where: str
) -> tuple[str, tuple[Statement, ...]]:
    """Return the value as the graph shows it, and its statement with its details.

    What the item leaves out of them is as the graph has it, where that says the value of one period.
    """
    relation, object_id = statement.relation, statement.object_id
    text, spelling = _current_spelling(entity, relation, object_id, statement.object)
    details: tuple[str, ...] = (item.begin, item.end, item.time, item.unit, item.rank, item.source)
    present = [
        fact.details
        for fact in (entity.facts if entity else ())
        if fact.relation == relation
        and (fact.object_id == object_id if object_id else fact.statement_object[0] == spelling)
    ]
    if len(present) == 1 and details != NO_DETAILS:
        details = tuple(new or old for new, old in zip(details, present[0], strict=True))
    _check_dates(item, details[0], details[1], where)
    full_text = f"{text} {item.unit}" if item.unit else text
    return full_text, (Statement(relation, spelling, object_id, statement.act, *details),)


def similar_name(problem: str, names: Sequence[str], where: str) -> SimilarName:
    advice = "write that name, or say `create` to make a new one"
    verb = "is" if len(names) == 1 else "are"
    return SimilarName(
        f"{problem}, and {one_line(names)} {verb} in use: {advice}",
        field=where,
        candidates=list(names[:MAX_SIMILAR]),
    )


def _add_or_set(item: FactItem, values: Sequence[str], where: str) -> AddOrSet:
    return AddOrSet(
        f"{item.relation} of {item.subject!r} is {one_line(values)}: "
        f"say `set` to put {item.object!r} in its place, "
        "or `add` to keep both; a definition of how many values the relation holds says it for all",
        field=f"{where}.act",
        values=list(values),
    )


def clean_fact(item: FactItem, place: int) -> FactItem:
    """Return a fact with its texts in the one spelling that files are read in, too."""
    where = f"edits.{place}"
    subject, text = clean_text(f"{where}.subject", item.subject), clean_text(f"{where}.object", item.object)
    relation = clean_text(f"{where}.relation", item.relation, MAX_RELATION_CHARS)
    unit = clean_text(f"{where}.unit", item.unit) if item.unit else ""
    update = {"subject": subject, "relation": relation, "object": text, "unit": unit}
    return item.model_copy(update=update)


def clean_text(where: str, text: str, *limit: int) -> str:
    try:
        return clean(where, text, *limit)
    except Refused as refused:
        raise InvalidInput(str(refused), field=where) from refused


def _current_spelling(
    entity: WholeEntity | None, relation: str, object_id: str, text: str
) -> tuple[str, str]:
    """Return the spelling of an entity that the graph shows, and the one of its statement.

    So the entity stays one value, whichever of its names is written.
    """
    facts = entity.facts if entity and object_id else ()
    same = (fact for fact in facts if (fact.relation, fact.object_id) == (relation, object_id))
    return next(((fact.object, fact.statement_object[0]) for fact in same), (text, text))


def _removal(
    item: FactItem, subject: Subject, values: CurrentValues, relation: str, text: str, object_id: str
) -> tuple[str, tuple[Statement, ...]]:
    """Return the value as the graph spells it, and statements that remove it as a text and as every entity."""
    spelling, _ = _current_spelling(subject.entity, relation, object_id, text)
    spelling = f"{spelling} {item.unit}" if item.unit else spelling
    removed_value = values.find(spelling)
    if removed_value is None:
        says = f"it says {one_line([*values.texts])}" if values.texts else "it says nothing of that"
        raise NothingToDo(
            f"the graph does not say that {item.relation} of {item.subject!r} is {item.object!r}: {says}; "
            "there is nothing to remove"
        )
    facts = subject.entity.facts if subject.entity else ()
    statement_objects = {
        f.statement_object for f in facts if (f.relation, f.object) == (relation, removed_value)
    }
    ids = {id for _, id in statement_objects} | {object_id}
    texts = {removed_value, *(text for text, id in statement_objects if not id)}
    removals = (Statement(relation, removed_value, id, "remove") for id in sorted(ids - {""}))
    return removed_value, (*removals, *(Statement(relation, text, "", "remove") for text in sorted(texts)))


def _check_dates(item: FactItem, begin: str, end: str, where: str) -> None:
    """Raise InvalidInput for a date that is none, and for a period, with what the graph says of it, that cannot be."""
    for name, text in (("begin", item.begin), ("end", item.end), ("time", item.time)):
        if text not in ("", UNKNOWN) and not is_possible(text):
            raise InvalidInput(f"{where}.{name}: the calendar has no {text}", field=f"{where}.{name}")
    if is_reversed(begin, end):
        detail = f"its end, {end}, is before its begin, {begin}: exchange or correct them"
        raise InvalidInput(f"{where}: {detail}", field=f"{where}.end")


def _check_name(item: FactItem, relation: str, where: str) -> None:
    if relation in NAME_RELATIONS.values() and any((item.begin, item.end, item.time, item.unit, item.rank)):
        raise InvalidInput(f"{where}: a name has neither a time nor a unit: leave them out", field=where)
    if relation not in (LABEL, ALIAS) or item.act == "remove":
        return
    place = f"{where}.object"
    if not name_key(item.object):
        raise InvalidInput(f"{place}: {item.object!r} holds no letter: give a name", field=place)
    reason = unlinkable(item.object)
    if reason is not None and relation == ALIAS:
        raise InvalidInput(f"{place}: {item.object!r} cannot be an alias: {reason}", field=place)
