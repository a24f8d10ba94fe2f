"""The words of a question in the graph at one version: mentions, and the entities that they may mean."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import NewType

from models.graph.periods import select_current


@dataclass(frozen=True, slots=True)
class Fact:
    """A triple without its subject."""

    relation: str  # name of the relation in the graph
    label: str  # how people call the relation, which an encoder reads
    object: str  # the value as text
    # Id of the object; "" for a number, a text, or an object that is no entity of the graph
    object_id: str = ""
    edit: str = ""  # id of the edit that says so, "" for the base
    # The text of the statement, where it names no id and the object is the one entity of that name
    linked_text: str = ""
    unlabelled: bool = False  # whether the object is called by its identifier, for want of a label

    begin: str = ""  # the first and the last date at which it holds, "" where nothing says one
    end: str = ""
    time: str = ""  # the point in time of which it is said
    unit: str = ""  # unit of the number: a text, or the id of an entity
    rank: str = ""  # "preferred" or "deprecated"; "" for a normal one
    number: str = ""  # the number, where the object is one with its unit
    source: str = ""  # the graph of a file that says it, "" for the file itself

    @property
    def statement_object(self) -> tuple[str, str]:
        """Return the object's text and its id as the statement has them."""
        return (self.linked_text, "") if self.linked_text else (self.number or self.object, self.object_id)

    @property
    def qualifiers(self) -> tuple[str, ...]:
        """Return what qualifies it, in the order of a statement."""
        return self.begin, self.end, self.time, self.unit, self.rank

    @property
    def has_period(self) -> bool:
        """Return whether it holds at some times only, as far as its statement says."""
        return bool(self.begin or self.end or self.time)

    @property
    def details(self) -> tuple[str, ...]:
        """Return what qualifies it, and its source."""
        return *self.qualifiers, self.source

    def with_name(self, labels: Mapping[str, str], is_identifier: Callable[[str, str], bool]) -> Fact:
        """Return the fact with its object, or the unit of its number, called by its label; see `Entity.with_names`."""
        key = self.unit or self.object_id
        label = labels.get(key)
        if label:
            return replace(self, object=f"{self.number} {label}" if self.unit else label)
        if label is not None and (self.unit or is_identifier(self.object, key)):
            return replace(self, unlabelled=True)
        return self


@dataclass(frozen=True, slots=True)
class Entity:
    """An entity with its names and its facts, in the order in which they were first said.

    A question reads the first facts of an entity alone; what needs all of them takes a `WholeEntity`.
    """

    id: str
    label: str
    aliases: tuple[str, ...] = ()
    description: str = ""
    facts: tuple[Fact, ...] = ()
    has_periods: bool = False  # whether some facts hold at some times only, or differ in rank

    @property
    def names(self) -> tuple[str, ...]:
        return (self.label, *self.aliases)

    @property
    def degree(self) -> int:
        return len(self.facts)

    def with_names(self, labels: Mapping[str, str], is_identifier: Callable[[str, str], bool]) -> Entity:
        """Return the entity with its objects called by their labels.

        Args:
            labels: Id of an object -> its label, "" where none is known; others keep their text.
            is_identifier: Tells whether a text is only the identifier of an id.
        """
        return replace(self, facts=tuple(fact.with_name(labels, is_identifier) for fact in self.facts))

    def at(self, as_of: str) -> Entity:
        """Return the entity with the facts that are current on a day (`2026-11-28`)."""
        return replace(self, facts=select_current(self.facts, as_of)) if self.has_periods else self

    def with_links(self, ids: Mapping[str, str], new_labels: Mapping[str, str]) -> Entity:
        """Return the entity with the objects that are texts taken for entities.

        Args:
            ids: Text of an object -> the one entity that has this name.
        """
        facts = tuple(
            replace(
                fact,
                object=new_labels.get(ids[fact.object], fact.object),
                object_id=ids[fact.object],
                linked_text=fact.object,
            )
            if not fact.object_id and fact.object in ids
            else fact
            for fact in self.facts
        )
        return replace(self, facts=facts)


WholeEntity = NewType("WholeEntity", Entity)
"""An entity with every fact that it has at its version."""


@dataclass(frozen=True, slots=True)
class Mention:
    """Characters [start, end) of a text that name an entity; several entities where the name is ambiguous."""

    start: int
    end: int
    entities: tuple[Entity, ...]
