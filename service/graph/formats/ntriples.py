"""Facts and names out of N-Triples (W3C, RDF 1.2), which Oxigraph parses, a line at a time."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TypeAlias
from urllib.parse import unquote

import pyoxigraph as ox

from service.graph.formats.row import Kind, Line, Read, Refused, Row, Skipped
from service.graph.formats.text import (
    ANY_LANGUAGE,
    clean,
    clean_id,
    clean_relation,
    decoded,
    no_control,
    shown,
)

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
_MOST_NESTED = 16  # triples within triples: the parser goes down into each, on a stack that ends

Node: TypeAlias = ox.NamedNode | ox.BlankNode


class NTriplesReader:
    most_bytes = 1_000_000

    def __init__(self, language: str) -> None:
        self.left_out: Counter[str] = Counter()
        self._languages = (language.casefold(), ANY_LANGUAGE)

    def read(self, lines: Iterable[Line]) -> Iterator[Read]:
        for number, line in lines:
            try:
                quad = _parsed(decoded(line))
                if quad:
                    yield self._row(quad, number)
            except Skipped as left_out:
                self.left_out[left_out.why] += 1
            except Refused as refused:
                yield refused.at(number)

    def end(self) -> Iterator[Read]:
        return iter(())

    def _row(self, quad: ox.Quad, line: int) -> Row:
        node, predicate, told, _ = quad
        if isinstance(node, ox.Triple) or isinstance(told, ox.Triple):
            raise Skipped("triple_in_triple")
        subject, naming = _id("subject", node), NAMING.get(predicate.value)
        self._check_language(told)
        if naming:
            return _named(subject, naming, told, line)
        if is_property(subject):
            raise Skipped("about_relation")
        text, object_id = _object(told)
        return Row("fact", subject, _relation(predicate.value), text, object_id, line, True)

    def _check_language(self, told: Node | ox.Literal) -> None:
        tag = told.language if isinstance(told, ox.Literal) else None
        if tag and tag.casefold() not in self._languages:
            raise Skipped("other_language")


def _named(subject: str, naming: Kind, told: Node | ox.Literal, line: int) -> Row:
    if not isinstance(told, ox.Literal):
        raise Skipped("name_is_no_text")
    kind = naming
    if is_property(subject):
        if naming != "label":
            raise Skipped("about_relation")
        kind = "relation_label"
    return Row(kind, subject, "", clean(naming, told.value), "", line, True)


def _parsed(text: str) -> ox.Quad | None:
    """The triple of a line; None of an empty line or a comment."""
    stripped = text.strip(" \t")
    if not stripped or stripped.startswith("#"):
        return None
    no_control(text)
    if text.count("<<") > _MOST_NESTED:
        raise Refused("no N-Triples line: too many triples within one another", "syntax")
    try:
        # to the end of the line: something may follow the dot
        found = list(ox.parse(text, format=ox.RdfFormat.N_TRIPLES))
    except SyntaxError as cause:
        reason = shown((cause.msg or "").partition(": ")[2])
        raise Refused(f"no N-Triples line: {reason} (at character {cause.offset})", "syntax") from cause
    return found[0] if found else None


def _id(field: str, node: Node) -> str:
    if isinstance(node, ox.BlankNode):
        return clean_id(field, f"_:{node.value}")
    if is_inner(node.value):
        raise Skipped("statement_node")
    return clean_id(field, id_of(node.value))


def _relation(iri: str) -> str:
    found = id_of(iri)
    return clean_relation(local_name(iri) if found == iri else found)


def _object(told: Node | ox.Literal) -> tuple[str, str]:
    """Its text and its id."""
    if not isinstance(told, ox.Literal):
        object_id = _id("object", told)
        return words_of(object_id), object_id
    text, kind = told.value, told.datatype.value
    if kind in _DATES:
        text = _CLOCK.sub("", text.strip())
    elif kind in _NUMBERS:
        text = text.strip().removeprefix("+")
    return clean("object", text), ""
