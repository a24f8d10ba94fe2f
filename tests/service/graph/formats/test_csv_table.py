"""CSV tables: columns in any order, ids beside names, records of many lines, bad headers and bad quotes."""

import tracemalloc
from io import BytesIO

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from service.graph.formats.reader import GraphFileReader
from service.graph.formats.row import GraphFileError, Row
from tests.service.graph.formats.drive import read

HEADER = "subject,relation,object\n"


def test_columns_may_stand_in_any_order_with_others_between_them() -> None:
    output = read("note,Object,place,Predicate,SUBJECT\nx,Paris,web,capital,France\n", "csv")
    assert output.results == (Row("fact", "France", "capital", "Paris", "", 2, False),)


def test_ids_are_taken_and_the_name_of_the_subject_is_told_once() -> None:
    data = "subject,subject_id,relation,object,object_id\nFrance,Q142,capital,Paris,Q90\nFrance,Q142,area,5,\nX,,r,o,\n"
    assert read(data, "csv").results == (
        Row("label", "Q142", "", "France", "", 2, True),
        Row("fact", "Q142", "capital", "Paris", "Q90", 2, True),
        Row("fact", "Q142", "area", "5", "", 3, True),
        Row("fact", "X", "r", "o", "", 4, False),
    )


def test_usual_headings_of_periods_units_and_labels_are_read_and_the_rest_are_told() -> None:
    qualifiers = [
        read(f"{HEADER.strip()},{heading}\na,r,o,1999\n", "csv").rows[0].qualifiers
        for heading in ("Start Date", "valid_from", "start", "end-date", "valid_to", "Valid Until", "units")
    ]
    assert qualifiers == [("1999", "", "", "", "")] * 3 + [("", "1999", "", "", "")] * 3 + [
        ("", "", "", "1999", "")
    ]
    data = "subject,subjectLabel,relation,object,object_label,lang,\n"
    data += "Q8,Oak,mayor,Q9,Mia,en,\nQ8,Oak,area,12,,,\nQ8,,age,5,5,,\n"
    reader = GraphFileReader("csv")
    rows = [row for row in reader.read(BytesIO(data.encode())) if isinstance(row, Row)]
    assert rows == [
        Row("label", "Q8", "", "Oak", "", 2, True),
        Row("fact", "Q8", "mayor", "Mia", "Q9", 2, True),
        Row("fact", "Q8", "area", "12", "", 3, True),
        Row("fact", "Q8", "age", "5", "", 4, True),
    ]
    assert reader.unread == ("lang",)


def test_a_rank_may_be_written_as_wikibase_does_and_what_cannot_be_is_rejected() -> None:
    output = read(
        "subject,relation,object,from,to,rank\na,r,1,,,Deprecated\na,r,2,,,http://wikiba.se/ontology#PreferredRank\n"
        "a,r,3,2020,2020-02-29,Normal\na,r,4,,,best\na,r,5,2020-13-45,,\na,r,6,,2021-02-29,\na,r,7,2011,2010-05,\n"
    )
    assert [row.qualifiers[-1] for row in output.rows] == ["deprecated", "preferred", ""]
    assert output.bad == [(line, "syntax") for line in (5, 6, 7, 8)]
    assert "is no rank: write preferred, normal or deprecated" in output.reasons[0]
    assert "'2020-13-45' in column from is no date" in output.reasons[1]
    assert "its end, 2010-05, is before its begin, 2011" in output.reasons[3]


def test_numbers_of_rows_are_neither_ranks_nor_relations_and_a_figure_with_a_label_is_one() -> None:
    output = read(
        "subject,relation,relation_id,object,object_label,rank\nFrance,capital,7,Paris,,1\n"
        "France,population,8,2800000,2.8 million,2\n"
    )
    assert output.bad == []
    assert [(row.relation, row.object_id) for row in output.rows] == [("capital", ""), ("population", "")]


def test_iris_of_wikidata_are_its_ids_and_a_relation_has_a_label_too() -> None:
    entity, direct = "http://www.wikidata.org/entity/", "http://www.wikidata.org/prop/direct/"
    output = read(f"subject,relation,relationLabel,object\n{entity}Q8,{direct}P36,capital,{entity}Q9\n")
    assert output.results == (
        Row("relation_label", "P36", "", "capital", "", 2, True),
        Row("fact", "Q8", "P36", "", "Q9", 2, True),
    )


def test_an_id_that_the_graph_keeps_for_itself_is_refused() -> None:
    output = read("subject,subject_id,relation,object\nx,@relation/P1,r,o\n", "csv")
    assert output.bad == [(2, "reserved")]


def test_a_header_with_a_mark_quotes_and_spaces_is_understood() -> None:
    output = read('\ufeff"subject", relation ,object\r\n"a, b", "r ""x""",c\r\n', "csv")
    assert output.facts == [("a, b", 'r "x"', "c")]


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "lacks subject, relation, object"),
        (b"subject,object\na,b\n", "lacks relation"),
        (b"subject|relation|object\na|b|c\n", "commas, semicolons or tabs between them"),
        (b"subject,relation,object,subject\n", "subject twice"),
        (b"subject,relation,obj\xffect\n", "cannot be read"),
        (b'subject,relation,"object\n', "at line 1 is never closed"),
    ],
)
def test_a_wrong_header_stops_and_says_what_is_wrong(data: bytes, problem: str) -> None:
    with pytest.raises(GraphFileError, match=problem):
        read(data, "csv")


@pytest.mark.parametrize(
    ("record", "code"),
    [
        (b"a,b", "columns"),
        (b"Washington, D.C.,in,USA", "columns"),
        (b"a,,c", "empty"),
        (b"a,r,\xff", "encoding"),
        (b'a,r,"\xff"', "encoding"),
        (b"a,r,x\x00y", "control"),
        (b"a,r,x\ry", "control"),
        (b'a,r,"x"y', "syntax"),
        (b'a,r,"' + b"x" * 200_000 + b'"', "too_long"),
        (b"a,r," + b"x" * 2_000_000, "too_long"),
        (b"a," + b"r" * 201 + b",o", "too_long"),
        (b"a,@alias,o", "reserved"),
    ],
)
def test_a_bad_record_is_named_and_its_neighbours_are_read(record: bytes, code: str) -> None:
    output = read(HEADER.encode() + b"I,r,1\n" + record + b"\nS,r,2\n", "csv")
    assert output.facts == [("I", "r", "1"), ("S", "r", "2")]
    assert output.bad == [(3, code)]


def test_a_quoted_field_may_hold_lines_and_the_count_goes_on_behind_it() -> None:
    output = read(HEADER + 'a,r,"one\r\n\r\ntwo, ""three"""\r\nb,r,c\nbad\n', "csv")
    assert output.facts == [("a", "r", 'one two, "three"'), ("b", "r", "c")]
    assert [row.line for row in output.rows] == [2, 5]
    assert (output.bad, output.lines) == ([(6, "columns")], 6)


@pytest.mark.parametrize("stray", ['a,r,"open', '"open,r,b', 'a,"r,b', 'a,r,"open ""'])
def test_a_quote_that_is_never_closed_refuses_the_file_at_its_line(stray: str) -> None:
    with pytest.raises(
        GraphFileError, match="opened in the record at line 3 is never closed: close it there"
    ):
        read(HEADER + f"I,r,1\n{stray}\nS,r,2\nT,r,3\n", "csv")


def test_a_quote_that_the_next_quoted_field_closes_refuses_the_file_at_its_line() -> None:
    with pytest.raises(GraphFileError, match="quotes of the record at line 2 do not pair up"):
        read(HEADER + 'a,r,"open\nS,r,2\n"T, U",r,3\nV,r,4\n', "csv")


def test_an_open_quote_before_very_many_empty_lines_holds_little() -> None:
    tracemalloc.start()
    with pytest.raises(GraphFileError, match="at line 2 is not closed within 1,000,000 bytes"):
        read(HEADER + 'a,r,"open' + "\n" * 200_000 + "b,r,c\n", "csv")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8_000_000


def test_a_field_of_many_lines_that_is_too_long_is_no_row() -> None:
    output = read(HEADER + 'a,r,"' + "x y z\n" * 1000 + '"\nb,r,c\n', "csv")
    assert (output.facts, output.bad) == ([("b", "r", "c")], [(2, "too_long")])


def test_a_line_too_long_within_quotes_takes_its_record_with_it_and_no_more() -> None:
    output = read(HEADER + 'a,r,"one\n' + "x" * 2_000_000 + '\nno,r,fact"\nb,r,c\n', "csv")
    assert (output.facts, output.bad) == ([("b", "r", "c")], [(2, "too_long")])


@given(st.lists(st.lists(st.text(st.sampled_from('a", \n')), min_size=3, max_size=3), max_size=5))
@example([["a", "r", '"\n"']])
def test_what_the_standard_library_writes_is_read_back(table: list[list[str]]) -> None:
    lines = (",".join('"' + field.replace('"', '""') + '"' for field in record) + "\n" for record in table)
    expected = [tuple(" ".join(field.split()) for field in record) for record in table]
    output = read(HEADER + "".join(lines), "csv")
    assert output.facts == [fields for fields in expected if all(fields)]
