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
    """For an entity that nobody is called: the usual id, or one beside it where that is somebody's with another name.

    And what is there under the id, where who gave it its name was taken back.
    """
    usual = id_from_name(name)
    ids = [usual, *(f"{usual}~{number}" for number in range(2, 20))]
    found = await lookup.entities(ids, view)
    free = (id for id in ids if (one := found[id]) is None or one.label == id)
    id = next(free, ids[-1])
    return id, found[id]


async def resolve_entity(name: str, view: GraphView, lookup: Lookup, field: str) -> Entity | None:
    """The one entity with this id or name; None when there is none. Ambiguous when several bear the name."""
    by_id = (await lookup.entities([name], view))[name]
    if by_id is not None:
        return by_id
    named = await lookup.entities_named(name, view)
    if len(named) > 1:
        raise ambiguous(name, named, field)
    return named[0] if named else None


def ambiguous(name: str, named: Sequence[Entity], field: str) -> Ambiguous:
    ordered = sorted(named, key=lambda one: (-one.degree, one.id))
    candidates: list[JSON] = [
        {"id": one.id, "label": one.label, "description": one.description, "degree": one.degree}
        for one in ordered
    ]
    which = ", ".join(f"{one.id} ({one.description or one.label})" for one in ordered[:5])
    more = f" and {len(ordered) - 5} more" if len(ordered) > 5 else ""
    detail = f"{name!r} names {len(ordered)} entities: {which}{more}; write the id of the one that is meant"
    return Ambiguous(detail, field=field, candidates=candidates)


def resolve_relation(name: str, view: GraphView) -> str:
    """Its name in the graph: a relation of the pack may be called by its label or its Wikidata property, too."""
    if name in NAME_RELATIONS:
        return NAME_RELATIONS[name]
    if name.startswith("@"):
        raise InvalidInput(
            f"{name!r}: a relation's name does not begin with @: choose another", field="relation"
        )
    known = view.base.relations
    if name in known:
        return name
    wanted = name.casefold()
    for relation in known.values():
        if wanted in (relation.label.casefold(), (relation.property or "").casefold()):
            return relation.id
    return name
