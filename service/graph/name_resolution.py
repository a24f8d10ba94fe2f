"""Which entity a curator or a file means by a name, and which relation: an id, a name, or something new."""

from __future__ import annotations

from collections.abc import Sequence

from models.graph.knowledge import Entity
from models.graph.statement import ALIAS, DESCRIPTION, LABEL
from models.graph.view import GraphView
from service.errors import JSON, Ambiguous, InvalidInput
from service.graph.linking.folding import fold
from service.graph.lookup import Lookup

NAME_RELATIONS = {"label": LABEL, "alias": ALIAS, "description": DESCRIPTION}
"""What an entity is called, said like a relation."""

NAME_ID_PREFIX = "n:"
"""Before the folded name of an entity that came without an id."""


def id_from_name(name: str) -> str:
    """The same for the same name, so that two imports speak of one entity."""
    return NAME_ID_PREFIX + fold(name).replace(" ", "_")


async def find_free_id(name: str, view: GraphView, lookup: Lookup) -> tuple[str, Entity | None]:
    """The id for a new entity: the usual one, or one beside it where that is taken by an entity with another name.

    Returns:
        The id, and the entity that is there under it where whoever gave it its name was taken back.
    """
    usual = id_from_name(name)
    ids = [usual, *(f"{usual}~{number}" for number in range(2, 20))]
    entities = await lookup.entities(ids, view)
    free = (id for id in ids if (entity := entities[id]) is None or entity.label == id)
    id = next(free, ids[-1])
    return id, entities[id]


async def resolve_entity(name: str, view: GraphView, lookup: Lookup, field: str) -> Entity | None:
    """The entity with this id or name; None when there is none. Ambiguous when several bear the name."""
    by_id = (await lookup.entities([name], view))[name]
    if by_id is not None:
        return by_id
    candidates = await lookup.entities_named(name, view)
    if len(candidates) > 1:
        raise ambiguous_name(name, candidates, field)
    return candidates[0] if candidates else None


def ambiguous_name(name: str, candidates: Sequence[Entity], field: str) -> Ambiguous:
    ranking = sorted(candidates, key=lambda entity: (-entity.degree, entity.id))
    details: list[JSON] = [
        {"id": e.id, "label": e.label, "description": e.description, "degree": e.degree} for e in ranking
    ]
    first = ", ".join(f"{entity.id} ({entity.description or entity.label})" for entity in ranking[:5])
    suffix = f" and {len(ranking) - 5} more" if len(ranking) > 5 else ""
    detail = f"{name!r} names {len(ranking)} entities: {first}{suffix}; write the id of the one that is meant"
    return Ambiguous(detail, field=field, candidates=details)


def resolve_relation(name: str, view: GraphView) -> str:
    """Its name in the graph: a relation of the pack may be called by its label or its Wikidata property, too."""
    if name in NAME_RELATIONS:
        return NAME_RELATIONS[name]
    if name.startswith("@"):
        raise InvalidInput(
            f"{name!r}: a relation's name does not begin with @: choose another", field="relation"
        )
    relations = view.base.relations
    if name in relations:
        return name
    folded_name = name.casefold()
    for relation in relations.values():
        if folded_name in (relation.label.casefold(), (relation.property or "").casefold()):
            return relation.id
    return name
