"""Wikidata's JSON dump: names, claims by rank and type, and lines that are no entity."""

import json
from typing import Any

import pytest

from service.graph.formats.row import Row
from tests.service.graph.formats.drive import Output, read


def text(value: Any, language: str = "en") -> dict[str, Any]:
    return {"language": language, "value": value}


def claim(type: str, value: Any, datatype: str = "", rank: str = "normal") -> dict[str, Any]:
    data = {"type": type, "value": value}
    return {"mainsnak": {"snaktype": "value", "datatype": datatype, "datavalue": data}, "rank": rank}


def item(claims: Any = (), **names: Any) -> dict[str, Any]:
    return {"type": "item", "id": "Q419", "claims": claims or [], **names}


def of(*entities: dict[str, Any], language: str = "en") -> Output:
    return read("[\n" + ",\n".join(json.dumps(entity) for entity in entities) + "\n]\n", "wikidata", language)


def read_value(type: str, value: Any, datatype: str = "") -> Output:
    return of(item({"P1": [claim(type, value, datatype)]}))


def time(at: str, precision: int) -> dict[str, Any]:
    return {"time": at, "precision": precision, "calendarmodel": "http://www.wikidata.org/entity/Q1985727"}


def test_an_item_has_names_and_facts() -> None:
    peru = item(
        {"P36": [claim("wikibase-entityid", {"entity-type": "item", "id": "Q2868"})]},
        labels={"en": text("Peru"), "fr": text("Pérou", "fr")},
        aliases={"en": [text("Republic of Peru"), text("PE")]},
        descriptions={"en": text("country")},
    )
    assert of(peru).results == (
        Row("label", "Q419", "", "Peru", "", 2, True),
        Row("alias", "Q419", "", "Republic of Peru", "", 2, True),
        Row("alias", "Q419", "", "PE", "", 2, True),
        Row("description", "Q419", "", "country", "", 2, True),
        Row("fact", "Q419", "P36", "", "Q2868", 2, True),
    )


def test_the_wanted_language_is_taken_or_else_the_name_for_all_languages() -> None:
    labels = {"fr": text("Pérou"), "mul": text("PERU")}
    assert [row.object for row in of(item(labels=labels), language="fr").rows] == ["Pérou"]
    assert [row.object for row in of(item(labels=labels)).rows] == ["PERU"]
    only_french = of(item(labels={"fr": text("Pérou")}))
    assert (only_french.results, only_french.skipped) == ((), {"other_language": 1})


@pytest.mark.parametrize(
    ("tags", "language", "names"),
    [
        (["en-gb", "en"], "en", ["label en", "alias en", "alias en-gb", "description en"]),
        (["en-gb", "mul"], "en", ["label mul", "alias mul", "alias en-gb", "description mul"]),
        (["en-gb", "de"], "en", ["label en-gb", "alias en-gb", "description en-gb"]),
        (["pt-br", "pt"], "pt-br", ["label pt-br", "alias pt-br", "alias pt", "description pt-br"]),
    ],
)
def test_a_text_of_a_region_is_taken_where_there_is_none_without(
    tags: list[str], language: str, names: list[str]
) -> None:
    texts = {tag: text(tag, tag) for tag in tags}
    aliases = {tag: [text(tag, tag)] for tag in tags}
    entity = item(labels=texts, descriptions=texts, aliases=aliases)
    assert [f"{row.kind} {row.object}" for row in of(entity, language=language).rows] == names


def test_a_property_gives_the_label_of_a_relation() -> None:
    output = of({"type": "property", "id": "P36", "labels": {"en": text("capital")}, "claims": {"P31": [{}]}})
    assert output.results == (Row("relation_label", "P36", "", "capital", "", 2, True),)
    assert output.skipped == {"about_relation": 1}


@pytest.mark.parametrize(
    ("type", "value", "expected"),
    [
        ("wikibase-entityid", {"entity-type": "item", "numeric-id": 90}, ("", "Q90")),
        ("string", "PE", ("PE", "")),
        ("time", time("+1889-03-31T00:00:00Z", 11), ("1889-03-31", "")),
        ("time", time("+00000001889-03-31T00:00:00Z", 11), ("1889-03-31", "")),
        ("time", time("+1889-03-00T00:00:00Z", 10), ("1889-03", "")),
        ("time", time("+1889-00-00T00:00:00Z", 9), ("1889", "")),
        ("time", time("+1889-01-01T00:00:00Z", 9), ("1889", "")),
        ("time", time("+1889-00-00T00:00:00Z", 11), ("1889", "")),
        ("time", time("+1885-00-00T00:00:00Z", 8), ("1880s", "")),
        ("time", time("-0044-00-00T00:00:00Z", 9), ("44 BC", "")),
        ("time", time("-0044-03-15T00:00:00Z", 11), ("0044-03-15 BC", "")),
        (
            "quantity",
            {"amount": "+8848.86", "unit": "http://www.wikidata.org/entity/Q11573"},
            ("8848.86", ""),
        ),
        ("quantity", {"amount": "-5"}, ("-5", "")),
        ("monolingualtext", {"text": "Firm and happy", "language": "en"}, ("Firm and happy", "")),
        ("monolingualtext", {"text": "Firm and happy", "language": "en-gb"}, ("Firm and happy", "")),
        ("globecoordinate", {"latitude": 48.8566, "longitude": -2}, ("48.8566, -2", "")),
        ("globecoordinate", {"latitude": 1e-9, "longitude": -1e-9}, ("0, 0", "")),
    ],
)
def test_each_type_of_value_is_said_in_its_way(type: str, value: Any, expected: tuple[str, str]) -> None:
    row = read_value(type, value).rows[0]
    assert (row.object, row.object_id) == expected


@pytest.mark.parametrize(
    ("type", "value", "datatype", "why"),
    [
        ("string", "118", "external-id", "external_id"),
        ("monolingualtext", {"text": "Firme", "language": "es"}, "", "other_language"),
        ("wikibase-entityid", {"entity-type": "property", "id": "P1"}, "", "other_type"),
        ("tomorrow's type", {}, "", "other_type"),
        ("time", time("+1801-00-00T00:00:00Z", 7), "", "coarse_time"),
    ],
)
def test_what_is_not_wanted_is_left_out(type: str, value: Any, datatype: str, why: str) -> None:
    output = read_value(type, value, datatype)
    assert (output.results, output.skipped) == ((), {why: 1})


@pytest.mark.parametrize("kind", ["novalue", "somevalue"])
def test_no_value_is_left_out(kind: str) -> None:
    output = of(item({"P1": [{"mainsnak": {"snaktype": kind}, "rank": "normal"}]}))
    assert (output.results, output.skipped) == ((), {"no_value": 1})


def test_the_preferred_claims_go_before_the_others_and_deprecated_ones_never_count() -> None:
    ranks = ["normal", "preferred", "deprecated"]
    output = of(item({"P1": [claim("string", rank, rank=rank) for rank in ranks]}))
    assert [(row.object, row.qualifiers) for row in output.rows] == [
        ("normal", ()),
        ("preferred", ("", "", "", "", "preferred")),
    ]
    assert output.skipped == {"deprecated": 1}
    assert of(item({"P1": [claim("string", "x", rank="deprecated")]})).rows == []


def test_a_statement_about_a_part_is_left_out_and_one_of_several_periods_is_several_facts() -> None:
    def qualify(id: str, *years: int) -> dict[str, Any]:
        return {id: [{"datavalue": {"value": time(f"+{year}-00-00T00:00:00Z", 9)}} for year in years]}

    office, part = claim("string", "Ina Dorn"), claim("string", "Kai Lund")
    office["qualifiers"] = {**qualify("P580", 1990, 2000), **qualify("P582", 1995)}
    part["qualifiers"] = {"P518": [{"snaktype": "value"}]}
    output = of(item({"P6": [office, part]}))
    assert [row.qualifiers[:2] for row in output.rows] == [("1990", "1995"), ("2000", "")]
    assert output.skipped == {"about_part": 1}
    for begins, ends, periods in (
        ((1990, 1991), (1995,), [("1990", "1995")]),  # two sources of one begin
        ((2000, 1990), (1995, 2005), [("1990", "1995"), ("2000", "2005")]),
        ((1990,), (1995, 1996), [("1990", "1995")]),
        ((1980, 2000, 2010), (1990,), [("1980", "1990"), ("2010", "")]),
    ):
        office["qualifiers"] = {**qualify("P580", *begins), **qualify("P582", *ends)}
        assert [row.qualifiers[:2] for row in of(item({"P6": [office]})).rows] == periods


@pytest.mark.parametrize(
    ("type", "value", "code"),
    [
        ("wikibase-entityid", {"id": "Q0"}, "syntax"),
        ("wikibase-entityid", {"id": 5}, "syntax"),
        ("wikibase-entityid", None, "syntax"),
        ("string", 5, "syntax"),
        ("string", "a\0b", "control"),
        ("string", "\ud800", "encoding"),
        ("string", " ", "empty"),
        ("string", "x" * 10_000_000, "too_long"),
        ("time", time("yesterday", 11), "syntax"),
        ("time", {"time": "+1889-13-41T00:00:00Z"}, "syntax"),
        ("time", "1889", "syntax"),
        ("quantity", {"amount": "many"}, "syntax"),
        ("globecoordinate", {"latitude": float("nan"), "longitude": 0}, "syntax"),
        ("globecoordinate", {"latitude": 10**400, "longitude": 0}, "syntax"),
        ("globecoordinate", {"latitude": True, "longitude": 0}, "syntax"),
    ],
)
def test_a_bad_value_costs_itself_and_not_the_entity(type: str, value: Any, code: str) -> None:
    output = of(item({"P1": [claim(type, value), claim("string", "good")]}, labels={"en": text("Peru")}))
    assert [row.object for row in output.rows] == ["Peru", "good"]
    assert output.bad == [(2, code)]
    assert output.reasons[0].startswith("P1: ")


@pytest.mark.parametrize(
    ("label", "code"),
    [("", "empty"), (5, "syntax"), (None, "syntax"), ("x" * 10_000_000, "too_long"), ("\udfff", "encoding")],
)
def test_a_bad_label_costs_itself(label: Any, code: str) -> None:
    output = of(item({"P1": [claim("string", "good")]}, labels={"en": text(label)}))
    assert ([row.object for row in output.rows], output.bad) == (["good"], [(2, code)])


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b'{"id": "Q1"', "syntax"),
        (b"5", "syntax"),
        (b'"Q1"', "syntax"),
        (b"{}", "syntax"),
        (b'{"id": 5}', "syntax"),
        (b'{"id": "@relation/P1"}', "syntax"),
        (b'{"id": "Q\xd9\xa1"}', "syntax"),
        (b"[" * 100_000, "syntax"),
        (b'{"a":' * 100_000, "syntax"),
        (b'{"id": "Q1", "a": ' + b"9" * 10_000 + b"}", "syntax"),
        (b'{"id": "Q1\x00"}', "control"),
        (b'{"id": "\xff"}', "encoding"),
        (b'{"id": "' + b"x" * 17_000_000 + b'"}', "too_long"),
    ],
)
def test_a_line_that_is_no_entity_is_named_and_its_neighbours_are_read(line: bytes, code: str) -> None:
    good = json.dumps(item(labels={"en": text("Peru")})).encode()
    output = read(b"[\n" + good + b",\n" + line + b",\n" + good + b"\n]", "wikidata")
    assert [row.line for row in output.rows] == [2, 4]
    assert output.bad == [(3, code)]


def test_empty_maps_as_lists_and_things_of_any_shape_do_no_harm() -> None:
    for odd in ([], {}, None, 5, "x", [5], {"en": 5}, {"P1": 5}, {"P1": [5]}):
        of(item(odd, labels=odd, aliases=odd, descriptions=odd))
    assert of(item([], labels=[], aliases=[], descriptions=[])).results == ()


def test_lexemes_redirects_and_missing_entities_are_left_out() -> None:
    output = of(
        {"type": "lexeme", "id": "L1"}, {"entity": "Q1", "redirect": "Q2"}, {"id": "Q3", "missing": ""}
    )
    assert (output.results, output.skipped) == ((), {"other_entity": 1, "redirect": 1, "missing": 1})


@pytest.mark.parametrize("is_list", [False, True])
@pytest.mark.parametrize("indent", [None, 2])
def test_a_list_and_a_map_are_read_however_their_lines_are_broken(is_list: bool, indent: int | None) -> None:
    entities = [item(labels={"en": text("Peru")}), item(labels={"en": text("Oz")}) | {"id": "Q7"}]
    data = entities if is_list else {"entities": {entity["id"]: entity for entity in entities}}
    output = read(json.dumps(data, indent=indent).replace('{\n  "entities"', '{"entities"'))
    assert [(row.subject, row.object) for row in output.rows] == [("Q419", "Peru"), ("Q7", "Oz")]
    assert output.bad == []


def test_a_list_on_one_line_of_one_entity_is_read_too() -> None:
    entity = json.dumps(item(labels={"en": text("Peru")}))
    assert read(f"[{entity}]", "wikidata").rows == read(entity, "wikidata").rows
