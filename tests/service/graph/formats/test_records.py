"""Records of many lines: line numbers stay right, and a stray quote costs its own line."""

from __future__ import annotations

import csv
import tracemalloc

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from service.graph.formats import GraphFileError
from service.graph.formats.csv_table import Record, Records, open_after
from tests.service.graph.formats.drive import read

HEADER = "subject,relation,object\n"


def test_a_quoted_field_may_hold_lines_and_the_count_goes_on_behind_it() -> None:
    result = read(HEADER + 'a,r,"one\r\n\r\ntwo, ""three"""\r\nb,r,c\nbad\n', "csv")
    assert result.facts == [("a", "r", 'one two, "three"'), ("b", "r", "c")]
    assert [row.line for row in result.rows] == [2, 5]
    assert (result.bad, result.lines) == ([(6, "columns")], 6)


@pytest.mark.parametrize("stray", ['a,r,"open', '"open,r,b', 'a,"r,b', 'a,r,"open ""'])
def test_a_quote_that_is_never_closed_costs_its_own_line(stray: str) -> None:
    result = read(HEADER + f"I,r,1\n{stray}\nS,r,2\nT,r,3\n", "csv")
    assert result.facts == [("I", "r", "1"), ("S", "r", "2"), ("T", "r", "3")]
    assert result.bad == [(3, "syntax")]


def test_a_quote_that_the_next_quoted_field_closes_costs_its_own_line() -> None:
    result = read(HEADER + 'a,r,"open\nS,r,2\n"T, U",r,3\nV,r,4\n', "csv")
    assert result.facts == [("S", "r", "2"), ("T, U", "r", "3"), ("V", "r", "4")]
    assert result.bad == [(2, "syntax")]


def test_a_field_of_many_lines_that_is_too_long_is_no_row() -> None:
    result = read(HEADER + 'a,r,"' + "x y z\n" * 1000 + '"\nb,r,c\n', "csv")
    assert (result.facts, result.bad) == ([("b", "r", "c")], [(2, "too_long")])


def test_a_line_too_long_within_quotes_takes_its_record_with_it_and_no_more() -> None:
    result = read(HEADER + 'a,r,"one\n' + "x" * 2_000_000 + '\nno,r,fact"\nb,r,c\n', "csv")
    assert (result.facts, result.bad) == ([("b", "r", "c")], [(2, "too_long")])


def test_an_open_quote_before_very_many_empty_lines_holds_little() -> None:
    tracemalloc.start()
    result = read(HEADER + 'a,r,"open' + "\n" * 200_000 + "b,r,c\n", "csv")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (result.facts, result.bad) == ([("b", "r", "c")], [(2, "too_long")])
    assert peak < 8_000_000


def test_quotes_that_never_pair_up_end_the_file_in_bounded_time() -> None:
    with pytest.raises(GraphFileError, match="do not pair up, from line"):
        read(HEADER + 'a,r,"b\n' + 'x"y,"z\n' * 200_000, "csv")


@given(st.lists(st.lists(st.text(st.sampled_from('a", \n')), min_size=2, max_size=4), max_size=5))
@example([['"', ""]])
def test_what_the_standard_library_writes_is_read_back(table: list[list[str]]) -> None:
    written = "".join(_written(record) for record in table)
    lines = written.encode().split(b"\n")[:-1]
    reader = Records()
    found = [*reader.read(enumerate(lines, 1)), *reader.end()]
    assert found == [Record(one.line, fields) for one, fields in zip(found, table, strict=True)]


def _written(record: list[str]) -> str:
    return ",".join('"' + field.replace('"', '""') + '"' for field in record) + "\n"


@given(st.text(st.sampled_from('a", '), max_size=12))
def test_whether_a_field_goes_on_is_what_the_standard_library_says(line: str) -> None:
    fields = next(csv.reader([line + "\n", "x"], skipinitialspace=True))
    assert open_after(line, False) == any("\n" in field for field in fields)
