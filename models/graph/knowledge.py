"""The words of a question in the graph at one version: mentions, and the entities that they may mean."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fact:
    """A triple without its subject.

    Attributes:
        relation: Name of the relation in the graph.
        label: How people call the relation, which an encoder reads.
        object: The value as text.
        object_id: Id of the object; "" for a number, a text, or an object that is no entity of the graph.
        edit: Id of the edit that says so, "" for the base.
    """

    relation: str
    label: str
    object: str
    object_id: str = ""
    edit: str = ""


@dataclass(frozen=True, slots=True)
class Entity:
    """An entity with its names and its facts, in the order in which they were first said."""

    id: str
    label: str
    aliases: tuple[str, ...] = ()
    description: str = ""
    facts: tuple[Fact, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return (self.label, *self.aliases)

    @property
    def degree(self) -> int:
        return len(self.facts)


@dataclass(frozen=True, slots=True)
class Mention:
    """Characters [start, end) of a text that name an entity; several entities where the name is ambiguous."""

    start: int
    end: int
    entities: tuple[Entity, ...]
