"""Items as Wikidata's REST API gives them, in the form of the dump."""

from __future__ import annotations

from typing import Any

_REST_TYPES = {
    "wikibase-item": "wikibase-entityid",
    "wikibase-property": "wikibase-entityid",
    "globe-coordinate": "globecoordinate",
    **{name: name for name in ("time", "quantity", "monolingualtext")},
}


def to_dump(entity: dict[str, Any]) -> dict[str, Any]:
    """Return an entity of Wikibase's REST API (https://doc.wikimedia.org/Wikibase/master/js/rest-api) as dumps do."""
    if "statements" not in entity or "claims" in entity:
        return entity
    texts = {
        key: {tag: {"language": tag, "value": text} for tag, text in as_dict(entity.get(key)).items()}
        for key in ("labels", "descriptions")
    }
    aliases = {
        tag: [{"language": tag, "value": text} for text in as_list(names)]
        for tag, names in as_dict(entity.get("aliases")).items()
    }
    claims = {
        property: [to_claim(as_dict(statement)) for statement in as_list(statements)]
        for property, statements in as_dict(entity.get("statements")).items()
    }
    return {**entity, **texts, "aliases": aliases, "claims": claims}


def to_claim(statement: dict[str, Any]) -> dict[str, Any]:
    qualifiers: dict[str, list[Any]] = {}
    for qualifier in map(as_dict, as_list(statement.get("qualifiers"))):
        qualifiers.setdefault(str(as_dict(qualifier.get("property")).get("id")), []).append(
            _to_snak(qualifier)
        )
    rank = statement.get("rank", "normal")
    return {"mainsnak": _to_snak(statement), "rank": rank, "qualifiers": qualifiers}


def _to_snak(statement: dict[str, Any]) -> dict[str, Any]:
    value, datatype = (
        as_dict(statement.get("value")),
        str(as_dict(statement.get("property")).get("data_type")),
    )
    type, content = _REST_TYPES.get(datatype, "string"), value.get("content")
    if type == "wikibase-entityid":
        kind = "property" if datatype == "wikibase-property" else "item"
        content = {"entity-type": kind, "id": content}
    data = {"type": type, "value": content}
    return {"snaktype": value.get("type", "value"), "datatype": datatype, "datavalue": data}


def as_dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
