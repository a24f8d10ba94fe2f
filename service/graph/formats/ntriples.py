"""Facts and names from N-Triples and N-Quads (W3C, RDF 1.2), which Oxigraph parses, a line at a time.

IRIs become the ids, relation names and words of the graph.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TypeAlias
from urllib.parse import unquote

import pyoxigraph as ox

from models.graph.base import to_words
from service.graph.formats.base import Reader
from service.graph.formats.cleaning import (
    clean,
    clean_id,
    clean_relation,
    excerpt,
    plain_number,
    refuse_control,
)
from service.graph.formats.row import GraphFileError, Kind, Refused, Result, Row, Skipped
from service.graph.formats.sparql_tsv import RESULT_COLUMNS, WRONG_RESULTS, is_results, to_triple
from service.graph.formats.xsd import DATES, DECIMAL, DOUBLES, NUMBERS, XSD, to_calendar

_RDFS, _SKOS = "http://www.w3.org/2000/01/rdf-schema#", "http://www.w3.org/2004/02/skos/core#"
_SCHEMA = ("http://schema.org/", "https://schema.org/")

NAMING: dict[str, Kind] = {
    _RDFS + "label": "label",
    _SKOS + "prefLabel": "label",
    _SKOS + "altLabel": "alias",
    _RDFS + "comment": "description",
    **{schema + "name": "label" for schema in _SCHEMA},
    **{schema + "description": "description" for schema in _SCHEMA},
}
# Names that are a label where there is no other, and else a further name
_OTHER_NAMES = {
    "http://xmlns.com/foaf/0.1/name",
    "http://www.geonames.org/ontology#name",
    *(f"http://purl.org/dc/{terms}/title" for terms in ("terms", "elements/1.1")),
}
_MAX_DEPTH = 16  # triples within triples: the parser recurses into each, on a bounded stack
_ENTITY = re.compile(r"https?://www\.wikidata\.org/(?:entity/([QPL]\d+)|prop/direct/(P\d+))", re.ASCII)
_PROPERTY = re.compile(r"P\d+", re.ASCII)
# A property of any Wikibase, as its statements name it; its label is that of `entity/P36`
_DIRECT = re.compile(r"(https?://[^<>]+)/prop/direct/(P\d+)", re.ASCII)
# A node without a name that Wikidata's full dump puts between an entity and a value
_STATEMENT_NODE = re.compile(r"https?://www\.wikidata\.org/(?:entity/statement|reference|value)/")
# A value that is there though it is not known, and one that is not there
_NO_VALUE = re.compile(r"https?://[^/]+/(?:\.well-known/genid/|prop/novalue/)")
_RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
_TYPE = _RDF + "type"
_RELATION_TYPES = {
    _RDF + "Property",
    "http://wikiba.se/ontology#Property",
    *(f"http://www.w3.org/2002/07/owl#{kind}Property" for kind in ("Object", "Datatype", "Annotation")),
}
_ABOUT = {schema + "about" for schema in _SCHEMA}
# Relations to the entity of Wikidata that a thing is, by its IRI or its page
_SAME = {
    "http://www.w3.org/2002/07/owl#sameAs",
    _SKOS + "exactMatch",
    *(schema + "sameAs" for schema in _SCHEMA),
}
_THING = re.compile(r"https?://www\.wikidata\.org/(?:entity|wiki)/(Q[1-9]\d*)", re.ASCII)
_MAX_ASIDE = 1_000_000  # relations and nodes that are left out, a hundred bytes each
_VERSION = re.compile(r"\s*VERSION\s+[\"']1\.\d[\"']\s*(#.*)?", re.ASCII)  # a line of N-Triples 1.2

# A point as WKT writes it, with the system of its coordinates before it (OGC 11-052r4, 8.5.1): longitude first, but for
# EPSG:4326
_POINT = re.compile(r"(?:<(\S+)>\s*)?POINT\s*\(\s*(-?\d+(?:\.\d+)?)\s+(-?\d+(?:\.\d+)?)\s*\)", re.IGNORECASE)
_CRS = re.compile(r"https?://www\.opengis\.net/def/crs/(?:OGC/[^/]+/CRS84|EPSG/[^/]+/4326)", re.ASCII)
_LATITUDE_FIRST = "/4326"
_MAX_LATITUDE, _MAX_LONGITUDE = 90, 360

Node: TypeAlias = ox.NamedNode | ox.BlankNode


class NTriplesReader(Reader):
    """Reads N-Triples, and results of SPARQL as TSV, whose cells are written alike."""

    _columns = 0  # columns of results, 0 for triples
    _is_first = True

    def read_line(self, text: str, number: int) -> Iterator[Result]:
        is_first, self._is_first = self._is_first, False
        if is_first and is_results(text):
            self._columns = text.count("\t") + 1
            if self._columns != RESULT_COLUMNS:
                raise GraphFileError(WRONG_RESULTS.format(self._columns))
            return
        if self._columns:
            text = to_triple(text)
        quad = _parse(text)
        if quad:
            yield self._row(quad, number)

    def _row(self, quad: ox.Quad, line: int) -> Row:
        node, predicate, value, graph = quad
        if isinstance(node, ox.Triple) or isinstance(value, ox.Triple):
            raise Skipped("triple_in_triple")
        subject, naming = self.node_id("subject", node), NAMING.get(predicate.value)
        is_other_name = predicate.value in _OTHER_NAMES and isinstance(value, ox.Literal)
        naming = "label" if is_other_name else naming
        if predicate.value in _SAME and (thing := _THING.fullmatch(value.value)):
            return Row("same_as", subject, "", "", thing[1], line, True)
        if not naming:
            self._set_aside(subject, predicate.value, value)
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
            yields = "other_language" * is_near or "other_name" * is_other_name
            return Row(kind, subject, "", clean(naming, value.value), "", line, True, yields=yields)
        if is_property:
            raise Skipped("about_relation")
        unit = ""
        if isinstance(value, ox.Literal):
            (text, unit), object_id = to_text(value), ""
        else:
            if isinstance(value, ox.BlankNode) and _ENTITY.fullmatch(predicate.value):
                raise Skipped("no_value")  # Wikidata's dumps name a value so that is not known
            text, object_id = "", self.node_id("object", value)
        relation = self.relations.get(predicate.value) or _relation_of(predicate.value)
        row = Row("fact", subject, relation, text, object_id, line, True)
        if isinstance(graph, ox.NamedNode):
            row = row._replace(source=clean("graph", graph.value))
        return row._replace(qualifiers=("", "", "", unit, "")) if unit else row

    def _set_aside(self, subject: str, predicate: str, value: Node | ox.Literal | ox.Triple) -> None:
        """Note relations, and nodes that only describe an entity."""
        if len(self.relations) + len(self.aside) >= _MAX_ASIDE:
            return
        if predicate not in self.relations and predicate != _TYPE and not _ENTITY.fullmatch(predicate):
            self.relations[predicate] = name = _relation_of(predicate)
            if direct := _DIRECT.fullmatch(predicate):
                self.relations[f"{direct[1]}/entity/{direct[2]}"] = name
        if isinstance(value, ox.NamedNode):
            if predicate == _TYPE and value.value in _RELATION_TYPES and not _PROPERTY.fullmatch(subject):
                iri = re.sub(r"/entity/(?=P\d+$)", "/prop/direct/", subject)
                self.relations.setdefault(subject, _relation_of(iri))
            if predicate in _ABOUT:
                self.aside[subject] = "about_entity"

    def node_id(self, field: str, node: Node) -> str:
        """Return the id of a node.

        Raises:
            Refused: It has none that is allowed.
            Skipped: It stands for no thing.
        """
        if isinstance(node, ox.BlankNode):
            return clean_id(field, "_:" + f"{self.scope}.{node.value}".removeprefix("."))
        if _STATEMENT_NODE.match(node.value):
            raise Skipped("statement_node")
        if _NO_VALUE.match(node.value):
            raise Skipped("no_value")
        return clean_id(field, id_of(node.value))


def to_text(literal: ox.Literal) -> tuple[str, str]:
    """Return the text of a value as people write it, and its unit in words; DBpedia writes quantities with one."""
    text, datatype = literal.value.strip(), literal.datatype.value
    if datatype in DATES:
        text = to_calendar(text)
    elif datatype in NUMBERS:
        text = plain_number(text, datatype in DOUBLES)
    elif point := _POINT.fullmatch(text):
        text = _to_place(point)
    text = clean("object", text)
    has_unit = not datatype.startswith((XSD, _RDF)) and DECIMAL.fullmatch(text)
    return text, to_words(local_name(datatype)) if has_unit else ""


def _to_place(point: re.Match[str]) -> str:
    """Return latitude and longitude of a point; the point as it is where it can be none of the earth."""
    system, *numbers = point.groups("")
    if _ENTITY.fullmatch(system):
        raise Skipped("other_type")  # a point of the moon
    latitude, longitude = numbers if system.endswith(_LATITUDE_FIRST) else reversed(numbers)
    is_place = abs(float(latitude)) <= _MAX_LATITUDE and abs(float(longitude)) <= _MAX_LONGITUDE
    return f"{latitude}, {longitude}" if is_place and (not system or _CRS.fullmatch(system)) else point[0]


def _relation_of(iri: str) -> str:
    """Return a relation's name: Wikidata's id, or else the last part of the IRI unless that looks like such an id.

    Raises:
        Refused: The IRI is an item's: results have other columns than a fact.
    """
    id = id_of(iri)
    if id != iri and not _PROPERTY.fullmatch(id):
        raise Refused(f"{id} stands where a relation belongs: SELECT ?subject ?relation ?object", "syntax")
    name = local_name(id) if id == iri else id
    return clean_relation(iri if id == iri and _PROPERTY.fullmatch(name) else name)


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


def is_unnamed(labels: Mapping[str, str], subject: str, object_id: str) -> bool:
    """Return whether one of two ids is a blank node to which these labels of its file give no name."""
    return (subject[:2] == "_:" and subject not in labels) or (
        object_id[:2] == "_:" and object_id not in labels
    )


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
    if not bare or bare.startswith("#") or _VERSION.fullmatch(bare):
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
