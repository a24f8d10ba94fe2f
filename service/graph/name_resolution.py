"""Resolves the names that a curator or a file writes to entities and relations: by id, by name, or as new ones."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice

from models.graph.knowledge import Entity, WholeEntity
from models.graph.statement import ALIAS, DESCRIPTION, LABEL
from models.graph.view import GraphView
from service.errors import JSON, Ambiguous, InvalidInput
from service.graph.linking.folding import name_key
from service.graph.lookup import NAME_ID_PREFIX, Lookup, has_name

# The relations as which a curator or a file writes the names of an entity.
NAME_RELATIONS = {"label": LABEL, "alias": ALIAS, "description": DESCRIPTION}
_ID = re.compile(r"[Pp]\d+", re.ASCII)  # the id of a property, or a name that differs from one in case only


def id_from_name(name: str) -> str:
    """Return the id of an entity without one; equal names have equal ids, so that imports share entities."""
    return NAME_ID_PREFIX + name_key(name).replace(" ", "_")


async def find_free_id(name: str, view: GraphView, lookup: Lookup) -> tuple[str, WholeEntity | None]:
    """Find the id for a new entity: the one of its name, with a number if another entity has that.

    Returns:
        The id, and the entity that has it already without a label, because the edit that named it was taken back.

    Raises:
        InvalidInput: Every id of the name is another entity's.
    """
    usual = id_from_name(name)
    ids = [usual, *(f"{usual}~{number}" for number in range(2, 20))]
    entities = await lookup.entities(ids, view)
    for id in ids:
        if (entity := entities[id]) is None or entity.label == id:
            return id, entity
    raise InvalidInput(
        f"no id is free for a new {name!r}: {usual} and those up to {ids[-1]} are of others; "
        "choose another name",
        field="subject",
    )


async def resolve_entity(
    name: str, view: GraphView, lookup: Lookup, field: str, with_accents: bool = False
) -> Entity | None:
    """Return the entity of an id or a name, if any; `with_accents` takes a name that differs in them for another."""
    by_id = (await lookup.entities([name], view))[name]
    if by_id is not None:
        return by_id
    bearers = await lookup.entities_named(name, view)
    candidates = [entity for entity in bearers if not with_accents or has_name(entity, name, name_key)]
    if len(candidates) > 1:
        raise ambiguous_name(name, candidates, field)
    return candidates[0] if candidates else None


def ambiguous_name(name: str, candidates: Sequence[Entity], field: str, otherwise: str = "") -> Ambiguous:
    """Return the question which of several entities is meant; `otherwise` is what else can be done."""
    ranking = sorted(candidates, key=lambda entity: (-entity.degree, entity.id))
    details: list[JSON] = [
        {"id": e.id, "label": e.label, "description": e.description, "degree": e.degree} for e in ranking
    ]
    first = ", ".join(f"{entity.id} ({entity.description or entity.label})" for entity in ranking[:5])
    suffix = f" and {len(ranking) - 5} more" if len(ranking) > 5 else ""
    detail = f"{name!r} names {len(ranking)} entities: {first}{suffix}; write the id of the one that is meant"
    return Ambiguous(detail + otherwise, field=field, candidates=details)


def resolve_relation(name: str, view: GraphView) -> str:
    """Return a relation's name in the graph; its label and the id of its Wikidata property are accepted."""
    if name in NAME_RELATIONS:
        return NAME_RELATIONS[name]
    if name.startswith("@"):
        raise InvalidInput(
            f"{name!r}: a relation's name does not begin with @: choose another", field="relation"
        )
    if name in view.base.relations or name in view.relations:
        return name
    key = name.casefold()
    of_base = (
        relation.id
        for relation in view.base.relations.values()
        if key == relation.label.casefold() or name == relation.property
    )
    by_label = view.relations_by_label.get(key, ())
    if _ID.fullmatch(name):
        by_label = [id for id in by_label if view.label(id) == name]
    ids = list(dict.fromkeys([*islice(of_base, 1), *by_label]))
    if len(ids) > 1:
        details: list[JSON] = [
            {"id": id, "label": view.label(id), "description": "a relation", "degree": 0} for id in ids
        ]
        raise Ambiguous(
            f"{name!r} is the label of {len(ids)} relations, {', '.join(ids)}: "
            "write the name of the one that is meant",
            field="relation",
            candidates=details,
        )
    return ids[0] if ids else name
