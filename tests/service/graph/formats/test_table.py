"""CSV tables: columns in any order, ids beside names, and headers that will not do."""

from __future__ import annotations

import pytest

from service.graph.formats import GraphFileError, Row
from tests.service.graph.formats.drive import read


def test_columns_may_stand_in_any_order_with_others_between_them() -> None:
    result = read("note,Object,source,Predicate,SUBJECT\nx,Paris,web,capital,France\n", "csv")
    assert result.out == (Row("fact", "France", "capital", "Paris", "", 2, False),)


def test_ids_are_taken_and_the_name_of_the_subject_is_told_once() -> None:
    data = "subject,subject_id,relation,object,object_id\nFrance,Q142,capital,Paris,Q90\nFrance,Q142,area,5,\nX,,r,o,\n"
    assert read(data, "csv").out == (
        Row("label", "Q142", "", "France", "", 2, True),
        Row("fact", "Q142", "capital", "Paris", "Q90", 2, True),
        Row("fact", "Q142", "area", "5", "", 3, True),
        Row("fact", "X", "r", "o", "", 4, False),
    )


def test_a_header_with_a_mark_quotes_and_spaces_is_understood() -> None:
    result = read('\ufeff"subject", relation ,object\r\n"a, b", "r ""x""",c\r\n', "csv")
    assert result.facts == [("a, b", 'r "x"', "c")]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "lacks subject, relation, object"),
        (b"\n\n", "lacks subject"),
        (b"subject,object\na,b\n", "lacks relation"),
        (b"subject;relation;object\na;b;c\n", "commas between them"),
        (b"France,capital,Paris\n", "lacks subject, relation, object"),
        (b"subject,relation,object,subject\n", "subject twice"),
        (b"subject,relation,obj\xffect\n", "cannot be read"),
        (b'subject,relation,"object\n', "cannot be read"),
    ],
)
def test_a_wrong_header_stops_and_says_what_is_wrong(data: bytes, said: str) -> None:
    with pytest.raises(GraphFileError, match=said):
        read(data, "csv")


@pytest.mark.parametrize(
    ("record", "code"),
    [
        (b"a,b", "columns"),
        (b"Washington, D.C.,in,USA", "columns"),
        (b"a,,c", "empty"),
        (b",,", "empty"),
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
    result = read(b"subject,relation,object\nI,r,1\n" + record + b"\nS,r,2\n", "csv")
    assert result.facts == [("I", "r", "1"), ("S", "r", "2")]
    assert result.bad == [(3, code)]


def test_an_id_that_the_graph_keeps_for_itself_is_refused() -> None:
    result = read("subject,subject_id,relation,object\nx,@relation/P1,r,o\n", "csv")
    assert result.bad == [(2, "reserved")]
