"""Facts and names from N-Triples and N-Quads (W3C, RDF 1.2), which Oxigraph parses, a line at a time.

IRIs become the ids, relation names and words of the graph.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TypeAlias
from urllib.parse import unquote

import pyoxigraph as ox

from service.graph.formats.row import (
    Kind,
    Reader,
    Refused,
    Result,
    Row,
    Skipped,
    clean,
    clean_id,
    clean_relation,
    excerpt,
    refuse_control,
)

_RDFS, _SKOS = "http://www.w3.org/2000/01/rdf-schema#", "http://www.w3.org/2004/02/skos/core#"
_XSD = "http://www.w3.org/2001/XMLSchema#"
_SCHEMA = ("http://schema.org/", "https://schema.org/")

NAMING: dict[str, Kind] = {
    _RDFS + "label": "label",
    _SKOS + "prefLabel": "label",
    _SKOS + "altLabel": "alias",
    _RDFS + "comment": "description",
    **{schema + "name": "label" for schema in _SCHEMA},
    **{schema + "description": "description" for schema in _SCHEMA},
}
_DATES = {_XSD + name for name in ("date", "dateTime", "dateTimeStamp", "gYear", "gYearMonth")}
_NUMBERS = {
    _XSD + name for name in ("integer", "decimal", "double", "float", "int", "long", "short", "byte")
} | {_XSD + name for name in ("nonNegativeInteger", "positiveInteger", "unsignedInt", "unsignedLong")}
_CLOCK = re.compile(r"T.*|(?<=\d)(Z|[+-]\d\d:\d\d)$", re.DOTALL)
_MAX_DEPTH = 16  # triples within triples: the parser recurses into each, on a bounded stack
_ENTITY = re.compile(r"https?://www\.wikidata\.org/(?:entity/([QPL]\d+)|prop/direct/(P\d+))", re.ASCII)
_PROPERTY = re.compile(r"P\d+", re.ASCII)
# A node without a name that Wikidata's full dump puts between an entity and a value
_STATEMENT_NODE = re.compile(r"https?://www\.wikidata\.org/(?:entity/statement|reference|value)/")

Node: TypeAlias = ox.NamedNode | ox.BlankNode


class NTriplesReader(Reader):
    def read_line(self, text: str, number: int) -> Iterator[Result]:
        quad = _parse(text)
        if quad:
            yield self._row(quad, number)

    def _row(self, quad: ox.Quad, line: int) -> Row:
        node, predicate, value, _ = quad
        if isinstance(node, ox.Triple) or isinstance(value, ox.Triple):
            raise Skipped("triple_in_triple")
        subject, naming = _id("subject", node), NAMING.get(predicate.value)
        tag = (isinstance(value, ox.Literal) and value.language) or ""
        is_near = bool(tag) and tag.casefold() not in self.languages
        if is_near and not self.is_near(tag):
            raise Skipped("other_language")
        is_property = _PROPERTY.fullmatch(subject) is not None
        if naming:
            if not isinstance(value, ox.Literal):
                raise Skipped("name_is_no_text")
            if is_property and naming != "label":
                raise Skipped("about_relation")
            kind: Kind = "relation_label" if is_property else naming
            return Row(kind, subject, "", clean(naming, value.value), "", line, True, is_near=is_near)
        if is_property:
            raise Skipped("about_relation")
        if isinstance(value, ox.Literal):
            text, datatype = value.value, value.datatype.value
            if datatype in _DATES:
                text = _CLOCK.sub("", text.strip())
            elif datatype in _NUMBERS:
                text = text.strip().removeprefix("+")
            text, object_id = clean("object", text), ""
        else:
            text, object_id = "", _id("object", value)
        id = id_of(predicate.value)
        relation = clean_relation(local_name(id) if id == predicate.value else id)
        return Row("fact", subject, relation, text, object_id, line, True)


def id_of(iri: str) -> str:
    """Return Wikidata's short id if the IRI has one, otherwise the whole IRI."""
    match = _ENTITY.fullmatch(iri)
    return (match[1] or match[2]) if match else iri


def local_name(iri: str) -> str:
    """Return the part after the last `#` or `/`, or without either after the last `:`, with its %XX decoded."""
    bare = iri.rstrip("#/")
    name = re.split(r"[#/]", bare)[-1] if re.search(r"[#/]", bare) else bare.rpartition(":")[2]
    try:
        return unquote(name, errors="strict") or iri
    except UnicodeDecodeError:
        return name


def words_of(id: str) -> str:
    """Return the name of an entity until a label comes; "" for an id without words (Q419, _:b0)."""
    if ":" not in id or id.startswith("_:"):
        return ""
    try:
        return clean("name", local_name(id).replace("_", " "))
    except Refused:
        return ""


def _parse(text: str) -> ox.Quad | None:
    bare = text.strip(" \t")
    if not bare or bare.startswith("#"):
        return None
    refuse_control(text)
    if text.count("<<") > _MAX_DEPTH:
        raise Refused("no N-Triples line: too many triples within one another", "syntax")
    try:
        # All quads are parsed, since text after the dot is an error only when it is read.
        quads = list(ox.parse(text, format=ox.RdfFormat.N_QUADS))
    except SyntaxError as cause:
        reason = excerpt((cause.msg or "").partition(": ")[2])
        raise Refused(f"no N-Triples line: {reason} (at character {cause.offset})", "syntax") from cause
    return quads[0] if quads else None


def _id(field: str, node: Node) -> str:
    if isinstance(node, ox.BlankNode):
        return clean_id(field, f"_:{node.value}")
    if _STATEMENT_NODE.match(node.value):
        raise Skipped("statement_node")
    return clean_id(field, id_of(node.value))
