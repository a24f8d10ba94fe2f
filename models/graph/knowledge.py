"""What a graph says about the words of a question, at one version: mentions, and the entities they may mean."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fact:
    """A triple without its subject.

    relation: its name in the graph. label: how people call the relation; what an encoder reads. object_id: "" for a
    number, a text, or an object that is no entity of the graph. edit: id of the edit that says so, "" for the base.
    """

    relation: str
    label: str
    object: str
    object_id: str = ""
    edit: str = ""


@dataclass(frozen=True, slots=True)
class Entity:
    """facts: in the order in which they were said first."""

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
