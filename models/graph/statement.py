"""What an edit or an import says about one entity, and how many such statements become the entity.

An entity at a version is the fold of the active statements about it, in the ledger's order: nothing is ever
overwritten, so a statement that is taken back leaves exactly what would have been there without it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from models.graph.knowledge import Entity, Fact

Act = Literal["add", "set", "remove", "default"]
Cardinality = Literal["one", "many"]

LABEL, ALIAS, DESCRIPTION, HOLDS = "@label", "@alias", "@description", "@holds"
"""What is no relation between entities: names, a description, and of a relation whether it holds "one" or "many"."""

RELATION = "@relation/"
"""Before the name of a relation: the id under which something is said about the relation itself."""


class Statement(NamedTuple):
    """act: add a value beside others, set it in place of all others, or remove it; `default` where there is none yet.

    `remove` with an empty object removes every value of the relation; with an object id also the value that is this
    entity under another name, for it may have been renamed since.
    """

    relation: str
    object: str
    object_id: str = ""
    act: Act = "add"


@dataclass(frozen=True, slots=True)
class Said:
    """Statements of one source about one entity. edit: "" for the base."""

    edit: str
    statements: tuple[Statement, ...]


class Value(NamedTuple):
    object: str
    object_id: str
    edit: str


def fold(said: Iterable[Said]) -> dict[str, dict[str, Value]]:
    """Relation -> values by their text, in the order in which they were told first; relations without values go."""
    values: dict[str, dict[str, Value]] = {}
    for source in said:
        for relation, text, object_id, act in source.statements:
            held = values.setdefault(relation, {})
            if act == "remove":
                _remove(held, text, object_id)
                continue
            if act == "default" and held:
                continue
            if act == "set":
                held.clear()
            held[text] = Value(text, object_id, source.edit)
    return {relation: held for relation, held in values.items() if held}


def _remove(held: dict[str, Value], text: str, object_id: str) -> None:
    if not text:
        held.clear()
    elif held.pop(text, None) is None and object_id:
        for other in [name for name, value in held.items() if value.object_id == object_id]:
            del held[other]


def entity(
    id: str, said: Iterable[Said], label_of: Callable[[str], str], relabelled: Mapping[str, str]
) -> Entity | None:
    """The entity that these statements give; None when nothing is left of it.

    label_of: how people call a relation. relabelled: newer labels of entities that are objects here.
    """
    values = fold(said)
    if not values:
        return None
    label = _last(values.pop(LABEL, {})) or id
    aliases = tuple(alias for alias in values.pop(ALIAS, {}) if alias != label)
    description = _last(values.pop(DESCRIPTION, {}))
    facts = tuple(
        Fact(relation, label_of(relation), relabelled.get(v.object_id, v.object), v.object_id, v.edit)
        for relation, held in values.items()
        for v in held.values()
        if not relation.startswith("@")
    )
    return Entity(id, label, aliases, description, facts)


def _last(values: dict[str, Value]) -> str:
    return next(reversed(values), "")
