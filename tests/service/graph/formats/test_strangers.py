"""Files as other programs write them are read as they mean it: each kind once, and what is left out is counted."""

import json
from io import BytesIO

import pytest

from service.graph.formats.cleaning import plain_number
from service.graph.formats.reader import GraphFileReader
from service.graph.formats.row import GraphFileError, Row
from tests.service.graph.formats.drive import read

XSD, TYPE = "http://www.w3.org/2001/XMLSchema#", "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"


@pytest.mark.parametrize(
    ("text", "datatype", "value"),
    [
        ("1889-03-31T14:30:00Z", "dateTime", "1889-03-31 14:30:00Z"),
        ("1889-03-31T00:00:00Z", "dateTime", "1889-03-31"),
        ("1889-03-31T00:00:00.5", "dateTime", "1889-03-31 00:00:00.5"),
        ("-0043-03-15T00:00:00Z", "dateTime", "0044-03-15 BC"),
        ("-0043", "gYear", "44 BC"),
        ("0000", "gYear", "1 BC"),
        ("0079", "gYear", "79"),
        ("8.848860000000001E3", "double", "8848.86"),
        ("2.2E+16", "double", "22000000000000000"),
        ("+1e-07", "double", "0.0000001"),
        ("INF", "double", "INF"),
        ("3.50", "decimal", "3.50"),
    ],
)
def test_a_value_is_written_as_people_write_it(text: str, datatype: str, value: str) -> None:
    [row] = read(f'<http://x.org/a> <http://x.org/p> "{text}"^^<{XSD}{datatype}> .\n').rows
    assert row.object == value


@pytest.mark.parametrize("text", ["abc", "", "e", "1e999", "nan"])
def test_what_is_no_number_stays(text: str) -> None:
    assert plain_number(text, True) == text


def test_a_quantity_of_dbpedia_has_its_unit() -> None:
    unit = "http://dbpedia.org/datatype/squareKilometre"
    [row] = read(f'<http://x.org/a> <http://x.org/area> "12.5"^^<{unit}> .\n').rows
    assert (row.object, row.qualifiers) == ("12.5", ("", "", "", "square kilometre", ""))


def test_a_value_that_is_not_known_or_not_there_is_no_fact() -> None:
    lines = [
        "<http://x.org/a> <http://x.org/p> <http://www.wikidata.org/.well-known/genid/1f> .",
        f"<http://x.org/a> {TYPE} <http://www.wikidata.org/prop/novalue/P40> .",
        "<http://www.wikidata.org/entity/Q1> <http://www.wikidata.org/prop/direct/P40> _:b0 .",
    ]
    output = read("\n".join(lines))
    assert (output.rows, output.skipped) == ([], {"no_value": 3})


def test_a_property_of_another_wikibase_is_not_wikidatas() -> None:
    base = "https://base.example.org"
    [row] = read(f"<{base}/entity/Q5> <{base}/prop/direct/P36> <{base}/entity/Q6> .\n").rows
    assert (row.subject, row.relation) == (f"{base}/entity/Q5", f"{base}/prop/direct/P36")


def test_the_label_of_a_property_of_another_wikibase_names_its_relation() -> None:
    base, label = "https://base.example.org", "<http://www.w3.org/2000/01/rdf-schema#label>"
    kind = f"<{base}/entity/P36> {TYPE} <http://wikiba.se/ontology#Property> ."
    reader = GraphFileReader()
    data = f'<{base}/entity/P36> {label} "capital"@en .\n{kind}\n'
    data += f"<{base}/entity/Q5> <{base}/prop/direct/P36> <{base}/entity/Q6> .\n"
    kinds = [row.kind for row in reader.read(BytesIO(data.encode())) if isinstance(row, Row)]
    assert kinds == ["label", "fact", "fact"]
    assert reader.relations[f"{base}/entity/P36"] == f"{base}/prop/direct/P36"


def test_a_thing_whose_id_looks_like_a_propertys_is_a_thing() -> None:
    anna = "<http://x.org/entity/P1>"
    reader = GraphFileReader()
    data = (
        f'{anna} <http://www.w3.org/2000/01/rdf-schema#label> "Anna" .\n{anna} <http://x.org/home> "Lima" .\n'
    )
    assert len(list(reader.read(BytesIO(data.encode())))) == 2
    assert "http://x.org/entity/P1" not in reader.relations


@pytest.mark.parametrize(
    "data",
    [
        "<http://x.org/a> <http://x.org/p> 42 .\n",
        "<http://x.org/a> a <http://x.org/City> .\n<http://x.org/a> <http://x.org/p> 42 .\n",
        "# a city\n<http://x.org/a> <http://x.org/p> 42, 43 .\n",
        '<http://x.org/a>\r\n    <http://x.org/p> "42" ; <http://x.org/q> 43 . # done',
        '<http://x.org/a>\n    <http://x.org/p> """42\n""" .\n',
    ],
)
def test_turtle_without_prefixes_is_no_bad_n_triples(data: str) -> None:
    output = read(data)
    assert (output.format, output.bad) == ("ttl", [])
    assert {row.object.strip() for row in output.rows} & {"42"}


def test_a_bad_first_line_of_n_triples_is_one_bad_line() -> None:
    output = read(
        "<http://x.org/a> <http://x.org/p> <http://x.org/b>\n<http://x.org/a> <http://x.org/p> _:b .\n"
    )
    assert (output.format, output.bad) == ("nt", [(1, "syntax")])


def test_a_name_of_another_vocabulary_yields_to_a_label() -> None:
    name, label = "<http://xmlns.com/foaf/0.1/name>", "<http://www.w3.org/2000/01/rdf-schema#label>"
    rows = read(f'<http://x.org/a> {name} "Ada King" .\n<http://x.org/a> {label} "Ada Lovelace" .\n').rows
    assert [(row.kind, row.object, row.yields) for row in rows] == [
        ("label", "Ada King", "other_name"),
        ("label", "Ada Lovelace", ""),
    ]
    [row] = read(f"<http://x.org/a> {name} <http://x.org/n> .\n").rows
    assert (row.kind, row.relation) == ("fact", "name")


def test_one_odd_line_makes_no_turtle_of_n_triples() -> None:
    good = "<http://x.org/a> <http://x.org/p> <http://x.org/b> .\n"
    output = read(
        f"<http://x.org/a> <http://x.org/p> 5 .\n{good}<http://x.org/a> <http://x.org/p> <http://b c> .\n{good}"
    )
    assert (output.format, [line for line, _ in output.bad]) == ("nt", [1, 3])


def test_the_version_of_n_triples_is_skipped() -> None:
    output = read('VERSION "1.2"\n<http://x.org/a> <http://x.org/p> <http://x.org/b> .\n')
    assert (output.format, len(output.rows), output.bad) == ("nt", 1, [])


def test_results_of_sparql_are_read_as_terms() -> None:
    rows = ['<http://x.org/a>\t<http://x.org/p>\t"Lima"@en', "<http://x.org/a>\t<http://x.org/p>\t42", "\t\t"]
    output = read("\n".join(["?s\t?p\t?o", *rows]))
    assert [(row.subject, row.relation, row.object) for row in output.rows] == [
        ("http://x.org/a", "p", "Lima"),
        ("http://x.org/a", "p", "42"),
    ]
    assert output.skipped == {"empty_cell": 1}
    with pytest.raises(GraphFileError, match=r"SELECT \?subject"):
        read("?item\t?itemLabel\n")


@pytest.mark.parametrize("header", ["node1\tlabel\tnode2", "id\tnode1\tlabel\tnode2"])
def test_a_file_of_kgtk_is_refused_with_a_hint(header: str) -> None:
    with pytest.raises(GraphFileError, match="KGTK"):
        read(f"{header}\nQ1\tP1\tQ2\n")


@pytest.mark.parametrize("format", [None, "tsv"])
@pytest.mark.parametrize("header", ['"subject"\t"relation"\t"object"', "Object\tSubject\tPredicate"])
def test_a_header_that_names_the_columns_makes_a_table(format: str | None, header: str) -> None:
    cells = ["Peru", "motto", '"firm, and\nhappy"']
    order = [0, 1, 2] if header.startswith('"') else [2, 0, 1]
    output = read(f"{header}\n" + "\t".join(cells[place] for place in order) + "\n", format)
    assert (output.format, output.facts) == ("csv", [("Peru", "motto", "firm, and happy")])


def test_a_table_of_facts_may_have_columns_of_time_and_unit() -> None:
    table = "subject,relation,object,from,to,unit\nA,height,12,1999,,metre\nA,mayor,Bo,last spring,,\n"
    output = read(table)
    assert [row.qualifiers for row in output.rows] == [("1999", "", "", "metre", "")]
    assert output.bad == [(3, "syntax")]


REST = {
    "type": "item",
    "id": "Q42",
    "labels": {"en": "Douglas"},
    "aliases": {"en": ["D"]},
    "statements": {
        "P39": [
            {
                "rank": "preferred",
                "property": {"id": "P39", "data_type": "wikibase-item"},
                "value": {"type": "value", "content": "Q5"},
                "qualifiers": [
                    {
                        "property": {"id": "P580", "data_type": "time"},
                        "value": {
                            "type": "value",
                            "content": {"time": "-0044-03-15T00:00:00Z", "precision": 11},
                        },
                    }
                ],
            }
        ],
        "P40": [{"property": {"id": "P40", "data_type": "wikibase-item"}, "value": {"type": "novalue"}}],
    },
}


@pytest.mark.parametrize("indent", [None, 2])
def test_an_item_of_the_rest_api_is_read(indent: int | None) -> None:
    output = read(json.dumps(REST, indent=indent))
    assert [(row.kind, row.object or row.object_id) for row in output.rows] == [
        ("label", "Douglas"),
        ("alias", "D"),
        ("fact", "Q5"),
    ]
    assert output.rows[-1].qualifiers == ("0044-03-15 BC", "", "", "", "preferred")
    assert output.skipped == {"no_value": 1}


@pytest.mark.parametrize("indent", [None, 2])
def test_entities_as_they_are_fetched_are_read(indent: int | None) -> None:
    labels = {"en": {"language": "en", "value": "Peru"}}
    output = read(json.dumps({"entities": {"Q419": {"id": "Q419", "labels": labels}}}, indent=indent))
    assert [(row.subject, row.object) for row in output.rows] == [("Q419", "Peru")]
