"""A statement of an edit or an import about one entity, and the fold of statements to the entity.

An entity at a version is the fold of the active statements about it, in the ledger's order: nothing is ever
overwritten, so a statement that is taken back leaves exactly what would have been there without it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from models.graph.knowledge import Entity, Fact

Act = Literal["add", "set", "remove", "default"]
Cardinality = Literal["one", "many"]

LABEL, ALIAS, DESCRIPTION, HOLDS = "@label", "@alias", "@description", "@holds"
"""What is no relation between entities: names, a description, and of a relation whether it holds "one" or "many"."""

OWN_HOLDS: Mapping[str, Cardinality] = {LABEL: "one", ALIAS: "many", DESCRIPTION: "one"}

RELATION = "@relation/"
"""Before the name of a relation: the id under which something is said about the relation itself."""
PLAIN = 4  # number of the fields that a statement without details has


class Statement(NamedTuple):
    """A statement about one relation of an entity.

    Its `act` adds a value beside others, sets it in place of all others, removes it, or gives a `default` where there
    is no value yet. `remove` with an empty object removes every value of the relation. With an object id it also
    removes the value that is this entity under another name, since the entity may have been renamed.
    """

    relation: str
    object: str
    object_id: str = ""
    act: Act = "add"
    begin: str = ""
    end: str = ""
    time: str = ""  # the point in time of which it is said
    unit: str = ""  # unit of a number: a text, or the id of an entity
    rank: str = ""  # "preferred" or "deprecated"; "" for a normal one
    source: str = ""  # the graph of a file that says it, "" for the file itself

    @property
    def qualifiers(self) -> tuple[str, ...]:
        """Return what qualifies it: begin, end, point in time, unit and rank."""
        return self[PLAIN:-1]

    @property
    def details(self) -> tuple[str, ...]:
        """Return what qualifies it, and its source."""
        return self[PLAIN:]


DETAILS = Statement._fields[PLAIN:]  # qualifiers and the source
NO_DETAILS = ("",) * len(Statement._fields[PLAIN:])
NO_QUALIFIERS = ("",) * len(Statement._fields[PLAIN:-1])


def shorten(statement: Statement) -> Sequence[str]:
    """Return the fields that are stored, without the details where there are none."""
    if statement.source:
        return statement
    return statement[:PLAIN] if statement.qualifiers == NO_QUALIFIERS else statement[:-1]


@dataclass(frozen=True, slots=True)
class SourceStatements:
    """Statements of one source about one entity; the base has "" for an edit."""

    edit: str
    statements: tuple[Statement, ...]


class Value(NamedTuple):
    object: str
    object_id: str
    edit: str
    begin: str = ""
    end: str = ""
    time: str = ""
    unit: str = ""
    rank: str = ""
    source: str = ""


@dataclass(slots=True)
class RelationValues:
    """The values of one relation of one entity, by the id of the value's entity or, without one, by its text.

    Two entities of one name are two values. A text that is the name of an entity among the values is that entity.
    One value of two periods, or of two units, is two values.
    """

    values: dict[str, Value] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)  # text -> key of the value with this text

    def add(self, text: str, object_id: str, edit: str, details: Sequence[str] = NO_DETAILS) -> None:
        """Add a value; it counts as said by the last edit that says it, and so do its end, rank and source."""
        key = object_id or self.keys.get(text, text)
        begin, end, time, unit, rank, source = details
        if (begin, end, time, unit, rank) != NO_QUALIFIERS:
            plain = self.values.pop(key, None) or self.values.pop(
                text, None
            )  # the same value, said more exactly
            id = object_id or (plain.object_id if plain else "")
            self.values["\t".join((key, begin, time, unit))] = Value(text, id, edit, *details)
            return
        if object_id and text in self.values:
            del self.values[text]  # the text is now known to name an entity
            self.keys.pop(text, None)
        present = self.values.get(key)
        id = object_id or (present.object_id if present else "")
        self.values[key] = Value(text, id, edit, source=source)
        self.keys.setdefault(text, key)

    def clear(self) -> None:
        """Remove all values but those that have ended, which a new value does not replace."""
        self.values = {key: value for key, value in self.values.items() if value.end}
        self.keys.clear()

    def remove(self, text: str, object_id: str) -> None:
        """Remove the value that is this entity, or else the value with this text; all values if both are empty."""
        keys = [
            key
            for key, value in self.values.items()
            if (value.object_id == object_id if object_id else text in ("", value.object))
        ]
        for key in keys:
            self.values.pop(key, None)
        self.keys = {text: key for text, key in self.keys.items() if key in self.values}
        for key, value in self.values.items():
            if "\t" not in key:
                self.keys.setdefault(value.object, key)


def fold(sources: Iterable[SourceStatements]) -> dict[str, dict[str, Value]]:
    """Return relation -> values, in the order in which they were first said, without relations that have none."""
    relations: dict[str, RelationValues] = {}
    for source in sources:
        for statement in source.statements:
            relation, text, object_id, act = statement[:PLAIN]
            current = relations.setdefault(relation, RelationValues())
            if act == "remove":
                current.remove(text, object_id)
                continue
            if act == "default" and current.values:
                continue
            if act == "set":
                current.clear()
            current.add(text, object_id, source.edit, statement.details)
    return {relation: current.values for relation, current in relations.items() if current.values}


def fold_entity(
    id: str,
    sources: Iterable[SourceStatements],
    label_of: Callable[[str], str],
    new_labels: Mapping[str, str],
) -> Entity | None:
    """Return the entity that these statements give; None when nothing is left of it.

    Args:
        sources: Statements about it, in the ledger's order.
    """
    values = fold(sources)
    if not values:
        return None
    label = _last(values.pop(LABEL, {})) or id
    aliases = tuple(alias.object for alias in values.pop(ALIAS, {}).values() if alias.object != label)
    description = _last(values.pop(DESCRIPTION, {}))
    facts = tuple(
        _to_fact(relation, relation_label, new_labels.get(v.object_id, v.object), v)
        for relation, relation_values in values.items()
        if not relation.startswith("@")
        for relation_label in (label_of(relation),)
        for v in relation_values.values()
    )
    return Entity(id, label, aliases, description, facts, any(f.qualifiers != NO_QUALIFIERS for f in facts))


def _to_fact(relation: str, label: str, text: str, v: Value) -> Fact:
    number = text if v.unit else ""
    full_text = f"{text} {v.unit}" if v.unit else text
    periods = v.begin, v.end, v.time
    rest = v.unit, v.rank, number, v.source
    return Fact(relation, label, full_text, v.object_id, v.edit, "", False, *periods, *rest)


def _last(values: dict[str, Value]) -> str:
    return next(reversed(values.values())).object if values else ""
