"""Facts and names out of N-Triples (W3C, RDF 1.2), which Oxigraph parses, a line at a time."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TypeAlias

import pyoxigraph as ox

from service.graph.formats.iri import id_of, is_inner, is_property, local_name, words_of
from service.graph.formats.row import Kind, LeftOut, Line, Read, Refused, Row
from service.graph.formats.text import (
    ANY_LANGUAGE,
    clean,
    clean_id,
    clean_relation,
    decoded,
    no_control,
    shown,
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
            except LeftOut as left_out:
                self.left_out[left_out.why] += 1
            except Refused as refused:
                yield refused.at(number)

    def end(self) -> Iterator[Read]:
        return iter(())

    def _row(self, quad: ox.Quad, line: int) -> Row:
        node, predicate, told, _ = quad
        if isinstance(node, ox.Triple) or isinstance(told, ox.Triple):
            raise LeftOut("triple_in_triple")
        subject, naming = _id("subject", node), NAMING.get(predicate.value)
        self._check_language(told)
        if naming:
            return _named(subject, naming, told, line)
        if is_property(subject):
            raise LeftOut("about_relation")
        text, object_id = _object(told)
        return Row("fact", subject, _relation(predicate.value), text, object_id, line, True)

    def _check_language(self, told: Node | ox.Literal) -> None:
        tag = told.language if isinstance(told, ox.Literal) else None
        if tag and tag.casefold() not in self._languages:
            raise LeftOut("other_language")


def _named(subject: str, naming: Kind, told: Node | ox.Literal, line: int) -> Row:
    if not isinstance(told, ox.Literal):
        raise LeftOut("name_is_no_text")
    kind = naming
    if is_property(subject):
        if naming != "label":
            raise LeftOut("about_relation")
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
        raise LeftOut("statement_node")
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
