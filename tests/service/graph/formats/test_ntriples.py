"""N-Triples: the values of IRIs, literals and blank nodes, and lines that are no triples."""

import pytest

from service.graph.formats.ntriples import local_name, words_of
from service.graph.formats.row import Row
from tests.service.graph.formats.drive import Output, read

WD, WDT = "http://www.wikidata.org/entity/", "http://www.wikidata.org/prop/direct/"
LABEL = "<http://www.w3.org/2000/01/rdf-schema#label>"
CRS, WKT = "http://www.opengis.net/def/crs/", "http://www.opengis.net/ont/geosparql#wktLiteral"
XSD = "http://www.w3.org/2001/XMLSchema#"


def read_triple(node: str, predicate: str, value: str) -> Output:
    return read(f"{node} {predicate} {value} .\n", "nt")


def test_a_fact_of_wikidata_has_the_short_ids() -> None:
    output = read_triple(f"<{WD}Q419>", f"<{WDT}P36>", f"<{WD}Q2868>")
    assert output.results == (Row("fact", "Q419", "P36", "", "Q2868", 1, True),)


@pytest.mark.parametrize(
    ("predicate", "kind"),
    [
        ("http://www.w3.org/2000/01/rdf-schema#label", "label"),
        ("http://www.w3.org/2004/02/skos/core#prefLabel", "label"),
        ("http://schema.org/name", "label"),
        ("http://www.w3.org/2004/02/skos/core#altLabel", "alias"),
        ("http://schema.org/description", "description"),
        ("https://schema.org/description", "description"),
        ("http://www.w3.org/2000/01/rdf-schema#comment", "description"),
    ],
)
def test_what_names_an_entity_is_no_fact(predicate: str, kind: str) -> None:
    row = read_triple(f"<{WD}Q419>", f"<{predicate}>", '"Peru"@en').rows[0]
    assert (row.kind, row.subject, row.relation, row.object) == (kind, "Q419", "", "Peru")


def test_the_label_of_a_property_is_that_of_a_relation_and_no_more_is_taken_of_it() -> None:
    lines = [
        f'<{WD}P36> {LABEL} "capital"@en .',
        f'<{WD}P36> <http://schema.org/description> "seat"@en .',
        f"<{WD}P36> <{WDT}P31> <{WD}Q1> .",
    ]
    output = read("\n".join(lines), "nt")
    assert output.results == (Row("relation_label", "P36", "", "capital", "", 1, True),)
    assert output.skipped == {"about_relation": 2}


def test_other_iris_are_ids_as_they_are_and_have_words_until_a_label_comes() -> None:
    city = "http://ex.org/S%C3%A3o_Paulo"
    row = read_triple(
        "<http://dbpedia.org/resource/New_York>", "<http://ex.org/o#twinnedWith>", f"<{city}>"
    ).rows[0]
    assert row.subject == "http://dbpedia.org/resource/New_York"
    assert (row.relation, row.object, row.object_id) == ("twinnedWith", "", city)
    assert (words_of(row.subject), words_of(city)) == ("New York", "São Paulo")


@pytest.mark.parametrize(
    ("iri", "name"),
    [
        ("http://ex.org/a/b", "b"),
        ("http://ex.org/a#b", "b"),
        ("http://ex.org/a/", "a"),
        ("http://ex.org/", "ex.org"),
        ("urn:isbn:123", "123"),
        ("http://ex.org/%E6%9D%B1", "東"),
        ("http://ex.org/%FF", "%FF"),
    ],
)
def test_the_local_name_is_what_follows_the_last_separator(iri: str, name: str) -> None:
    assert local_name(iri) == name


@pytest.mark.parametrize("id", ["Q419", "_:b0", "http://ex.org/%00"])
def test_an_id_that_says_nothing_has_no_words(id: str) -> None:
    assert words_of(id) == ""


def test_blank_nodes_are_ids() -> None:
    row = read_triple("_:b0", "<http://ex.org/knows>", "_:b1").rows[0]
    assert (row.subject, row.object, row.object_id, row.by_id) == ("_:b0", "", "_:b1", True)


@pytest.mark.parametrize(
    ("literal", "text"),
    [
        (f'"1889-03-31T00:00:00Z"^^<{XSD}dateTime>', "1889-03-31"),
        (f'"1889-03-31+01:00"^^<{XSD}date>', "1889-03-31"),
        (f'"1889-03-31Z"^^<{XSD}date>', "1889-03-31"),
        (f'"-0043-03-15T00:00:00Z"^^<{XSD}dateTime>', "0044-03-15 BC"),
        (f'"1889Z"^^<{XSD}gYear>', "1889"),
        (f'"1889-03"^^<{XSD}gYearMonth>', "1889-03"),
        (f'"+330.5"^^<{XSD}decimal>', "330.5"),
        (f'"-5"^^<{XSD}integer>', "-5"),
        (f'"true"^^<{XSD}boolean>', "true"),
        ('"Point(2.35 48.85)"^^<http://www.opengis.net/ont/geosparql#wktLiteral>', "48.85, 2.35"),
        (f'"<{CRS}OGC/1.3/CRS84> POINT(2.35 48.85)"^^<{WKT}>', "48.85, 2.35"),
        (f'"<{CRS}EPSG/0/4326> POINT (48.85 2.35)"^^<{WKT}>', "48.85, 2.35"),
        (f'"Point(200 95)"^^<{WKT}>', "Point(200 95)"),
        (f'"<{CRS}EPSG/0/25832> POINT(52 13)"^^<{WKT}>', f"<{CRS}EPSG/0/25832> POINT(52 13)"),
        ('"+49 30"', "+49 30"),
        ('"a \\"b\\"\\n\\tc \\u00e9\\U0001F600"', 'a "b" c é😀'),
        ('"e\\u0301"@en', "é"),
    ],
)
def test_a_literal_is_its_plain_value(literal: str, text: str) -> None:
    row = read_triple("<http://ex.org/s>", "<http://ex.org/p>", literal).rows[0]
    assert (row.object, row.object_id) == (text, "")


@pytest.mark.parametrize(
    ("language", "whole", "near"),
    [
        ("en", [3, 4, 7], [2, 6]),
        ("de", [1, 4, 7], []),
        ("en-GB", [2, 4, 7], [3, 6]),
        ("zh", [4, 7], [5]),
        ("e", [4, 7], []),
    ],
)
def test_other_languages_are_left_out_and_counted(language: str, whole: list[int], near: list[int]) -> None:
    tags = ("de", "en-gb", "EN", "mul", "zh-Hant-TW", "en-US")
    lines = "".join(f'<{WD}Q1> {LABEL} "x"@{tag} .\n' for tag in tags)
    output = read(lines + f'<{WD}Q1> {LABEL} "x" .\n', "nt", language=language)
    assert [row.line for row in output.rows if not row.yields] == whole
    assert [row.line for row in output.rows if row.yields] == near
    n_others = 7 - len(whole) - len(near)
    assert (output.skipped, output.bad) == ({"other_language": n_others}, [])


@pytest.mark.parametrize(
    ("node", "value", "why"),
    [
        (f"<{WD}statement/Q1-abc>", '"x"', "statement_node"),
        (f"<{WD}Q1>", f"<{WD}statement/Q1-abc>", "statement_node"),
        (f"<{WD}Q1>", f'<<( <{WD}Q1> {LABEL} "x" )>>', "triple_in_triple"),
    ],
)
def test_what_no_reader_would_look_for_is_left_out(node: str, value: str, why: str) -> None:
    output = read_triple(node, "<http://www.wikidata.org/prop/P36>", value)
    assert (output.results, output.skipped) == ((), {why: 1})


def test_a_label_that_is_no_text_is_left_out() -> None:
    assert read_triple(f"<{WD}Q1>", LABEL, f"<{WD}Q2>").skipped == {"name_is_no_text": 1}


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"nonsense", "syntax"),
        (b'<http://a/s> <http://a/p> "x"', "syntax"),
        (b'<http://a/s> <http://a/p> "x', "syntax"),
        (b"<http://a/s> <http://a/p> .", "syntax"),
        (b'<http://a/s p> <http://a/p> "x" .', "syntax"),
        (b'<s> <http://a/p> "x" .', "syntax"),
        (b'"x" <http://a/p> "x" .', "syntax"),
        (b'<http://a/s> _:p "x" .', "syntax"),
        (b'<http://a/s> <http://a/p> "x" . <http://a/s> <http://a/p> "y" .', "syntax"),
        (b'<http://a/s> <http://a/p> "\\uD800" .', "syntax"),
        (b'<http://a/s> <http://a/p> "\\x" .', "syntax"),
        (b'<http://a/s> <http://a/p> ' + b'<<( <http://a/s> <http://a/p> ' * 30_000, "syntax"),
        (b'<http://a/s> <http://a/p> "\xff" .', "encoding"),
        (b'<http://a/s> <http://a/p> "x" .\r<http://a/s> <http://a/p> "y" .', "control"),
        (b'<http://a/s> <http://a/p> "a\x00b" .', "control"),
        (b'<http://a/s> <http://a/p> "a\\u0000b" .', "control"),
        (b'<http://a/s> <http://a/%00> "x" .', "control"),
        (b'<http://a/s> <http://a/p> <http://a/' + b"x" * 2000 + b"> .", "too_long"),
        (b'<http://a/s> <http://a/' + b"x" * 201 + b'> "x" .', "too_long"),
        (b'<http://a/s> <http://a/p> "' + b"x" * 10_000_000 + b'" .', "too_long"),
        (b'<http://a/s> <http://a/p> "" .', "empty"),
        (b'<http://a/s> <http://a/@label> "x" .', "reserved"),
    ],
)  # fmt: skip
def test_a_bad_line_is_named_and_its_neighbours_are_read(line: bytes, code: str) -> None:
    good = b'<http://a/s> <http://a/p> "x" .'
    output = read(good + b"\n" + line + b"\n" + good, "nt")
    assert [row.line for row in output.rows] == [1, 3]
    assert output.bad == [(2, code)]
    assert len(output.reasons[0]) < 300


def test_comments_and_empty_lines_are_skipped() -> None:
    output = read('\ufeff# one\r\n\r\n\t \r\n_:a <http://a/p> "x" . # two\r\n  # three', "nt")
    assert [row.line for row in output.rows] == [4]
    assert (output.bad, output.lines) == ([], 5)
