"""Compares the facts of a file with the graph: which are new, and which values they replace or add to.

A triple goes against what a person edited if it replaces a value that an edit gave, stands beside one that an edit
set in place of all others, or is one that an edit took away.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from models.graph.knowledge import Fact, WholeEntity
from models.graph.statement import NO_QUALIFIERS
from models.graph.view import GraphView
from service.graph.linking.folding import name_key

# Facts of a file that are compared; beyond it only those about entities that a person edited
MAX_COMPARED = 100_000
UNIT = 3  # place of the unit among qualifiers


@dataclass(frozen=True)
class FileFact:
    line: int
    subject: str
    relation: str
    object: str
    object_id: str
    act: str
    qualifiers: tuple[str, ...] = ()
    source: str = ""

    @property
    def unit(self) -> str:
        """Return the unit of its number, "" without one."""
        return self.qualifiers[UNIT] if self.qualifiers else ""

    @property
    def key(self) -> tuple[str, str, str]:
        """Return its subject, its relation, and its object's text or else id."""
        return self.subject, self.relation, self.object or self.object_id


@dataclass(frozen=True)
class Comparison:
    fact: FileFact
    label: str  # how the subject is called
    values: tuple[str, ...]  # values that the graph has for its relation
    # The edit or import whose value it replaces or stands beside, or which took it away; "" without one
    edit: str
    is_new: bool  # whether the graph does not say it, or not from this source
    replaces: bool  # whether it takes the place of other values
    by_hand: bool  # whether it goes against what a person edited


def compare(
    facts: Sequence[FileFact], entities: Mapping[str, WholeEntity | None], view: GraphView
) -> Iterator[Comparison]:
    """Yield the comparison of each fact, but of those that a later one of the file replaces.

    Args:
        facts: Facts of a file; all of a subject are in one call.
    """
    by_relation: dict[tuple[str, str], list[FileFact]] = {}
    for fact in facts:
        key = fact.subject, fact.relation
        if fact.act == "set":
            by_relation.pop(key, None)
        by_relation.setdefault(key, []).append(fact)
    for (subject, relation), values in by_relation.items():
        entity = entities.get(subject)
        present = [f for f in entity.facts if f.relation == relation] if entity else []
        is_cell = values[0].act == "set"
        absent = (
            [other for other in present if not other.end and not any(is_same(other, f) for f in values)]
            if is_cell
            else []
        )
        label = entity.label if entity else subject
        for n, fact in enumerate(values):
            other_values = [other for other in present if not is_same(other, fact)]
            is_new = len(other_values) == len(present)
            replaces = n == 0 and bool(absent)
            edit = absent[0].edit if replaces else ""
            by_hand = bool(absent) and is_by_hand(subject, absent[0].edit, view)
            if not is_cell and is_new:
                edit = find_opponent(fact, other_values, view)
                by_hand = bool(edit)
            texts = tuple(other.object for other in (absent if is_cell else other_values))
            sources = {other.source for other in present if is_same(other, fact)}
            is_new = is_new or replaces or fact.source not in {"", *sources}
            yield Comparison(fact, label, texts, edit, is_new, replaces, by_hand)


def is_same(present: Fact, fact: FileFact) -> bool:
    if present.qualifiers != (fact.qualifiers or NO_QUALIFIERS):
        return False
    if fact.object_id and present.object_id:
        return fact.object_id == present.object_id
    return name_key(fact.object) in (name_key(present.object), name_key(present.statement_object[0]))


def is_by_hand(subject: str, edit: str, view: GraphView) -> bool:
    return any(source.edit == edit for _, source in view.edits.get(subject, ()))


def find_opponent(fact: FileFact, other_values: Sequence[Fact], view: GraphView) -> str:
    """Return the edit by which a person set the relation to another value, or took this value away; "" without one."""
    edits = {other.edit for other in other_values}
    opponent = ""
    for _, source in view.edits.get(fact.subject, ()):
        for statement in source.statements:
            if statement.relation != fact.relation:
                continue
            is_set = statement.act == "set" and source.edit in edits
            is_object = (
                statement.object_id == fact.object_id
                if statement.object_id and fact.object_id
                else name_key(statement.object) in ("", name_key(fact.object))
            )
            if is_set or (statement.act == "remove" and is_object):
                opponent = source.edit
    return opponent
