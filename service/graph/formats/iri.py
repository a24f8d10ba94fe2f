"""IRIs as ids, as relation names and as words: what RDF calls things, said the way the graph does."""

from __future__ import annotations

import re
from urllib.parse import unquote

from service.graph.formats.row import Refused
from service.graph.formats.text import clean

_ENTITY = re.compile(r"https?://www\.wikidata\.org/(?:entity/([QPL]\d+)|prop/direct/(P\d+))", re.ASCII)
_PROPERTY = re.compile(r"P\d+", re.ASCII)
_INNER = re.compile(r"https?://www\.wikidata\.org/(?:entity/statement|reference|value)/")


def id_of(iri: str) -> str:
    """Wikidata's own short id, else the whole IRI."""
    found = _ENTITY.fullmatch(iri)
    return (found[1] or found[2]) if found else iri


def is_property(id: str) -> bool:
    return _PROPERTY.fullmatch(id) is not None


def is_inner(iri: str) -> bool:
    """A node that Wikidata's full dump puts between an entity and a value; nothing that has a name."""
    return _INNER.match(iri) is not None


def local_name(iri: str) -> str:
    """What follows the last `#` or `/` (`:` where there is neither), with its %XX read."""
    bare = iri.rstrip("#/")
    name = re.split(r"[#/]", bare)[-1] if re.search(r"[#/]", bare) else bare.rpartition(":")[2]
    try:
        return unquote(name, errors="strict") or iri
    except UnicodeDecodeError:
        return name


def words_of(id: str) -> str:
    """What an entity is called until a label comes; "" where its id says nothing (Q419, _:b0)."""
    if ":" not in id or id.startswith("_:"):
        return ""
    try:
        return clean("name", local_name(id).replace("_", " "))
    except Refused:
        return ""
