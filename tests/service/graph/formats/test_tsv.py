"""Facts by name from tab-separated lines, and every way in which a line can be no fact."""

from __future__ import annotations

import pytest

from service.graph.formats.row import Row
from tests.service.graph.formats.drive import read


def test_three_columns_are_a_fact_by_name() -> None:
    output = read("France\tcapital\tParis\nAda Lovelace\tborn\t1815\n", "tsv")
    assert output.results == (
        Row("fact", "France", "capital", "Paris", "", 1, False),
        Row("fact", "Ada Lovelace", "born", "1815", "", 2, False),
    )
    assert output.lines == 2


def test_a_mark_before_the_file_windows_line_ends_and_a_missing_last_line_end_change_nothing() -> None:
    plain = read("France\tcapital\tParis\nItaly\tcapital\tRome\n", "tsv")
    odd = read("\ufeffFrance\tcapital\tParis\r\nItaly\tcapital\tRome", "tsv")
    assert odd == plain


def test_empty_lines_are_skipped_and_counted() -> None:
    output = read("\n\r\n   \nFrance\tcapital\tParis\n\n", "tsv")
    assert [row.line for row in output.rows] == [4]
    assert (output.bad, output.lines) == ([], 5)


@pytest.mark.parametrize(
    ("line", "code", "problem"),
    [
        (b"France\tcapital", "columns", "2 columns instead of 3"),
        (b"France", "columns", "1 column instead of 3"),
        (b"# a comment", "columns", "1 column instead of 3"),
        (b"France\tcapital\tParis\tFR", "columns", "4 columns instead of 3"),
        (b"\tcapital\tParis", "empty", "the subject is empty"),
        (b"France\t \tParis", "empty", "the relation is empty"),
        (b"France\tcapital\t\xe2\x80\x8b", "empty", "the object is empty"),
        (b"\t\t", "empty", "the subject is empty"),
        (b"France\tcapital\tPar\xffis", "encoding", "at byte 18"),
        (b"France\tcapital\t\xed\xa0\x80", "encoding", "at byte 15"),
        (b"France\tcapital\t\xc0\x80", "encoding", "at byte 15"),
        (b"Fra\x00nce\tcapital\tParis", "control", "U+0000"),
        (b"France\tcapital\tPa\rris", "control", "U+000D"),
        (b"France\tcapital\tPa\x1fris", "control", "U+001F"),
        (b"France\tcapital\tPa\x7fris", "control", "U+007F"),
        (b"France\tcapital\tPa\xc2\x92ris", "control", "U+0092"),
        (b"x" * 2001 + b"\tcapital\tParis", "too_long", "the subject is longer than 2,000 characters"),
        (b"France\t" + b"x" * 201 + b"\tParis", "too_long", "the relation is longer than 200 characters"),
        (b"France\tcapital\t" + b"x" * 10_000_000, "too_long", "the line is too long"),
        (b"France\t@label\tParis", "reserved", "begins with @"),
    ],
)  # fmt: skip
def test_a_bad_line_is_named_and_its_neighbours_are_read(line: bytes, code: str, problem: str) -> None:
    output = read(b"Italy\tcapital\tRome\n" + line + b"\nSpain\tcapital\tMadrid\n", "tsv")
    assert [row.line for row in output.rows] == [1, 3]
    assert output.bad == [(2, code)]
    assert problem in output.reasons[0]


def test_a_text_of_the_greatest_length_is_taken_and_counts_characters_not_bytes() -> None:
    assert read("é" * 2000 + "\tr\to\n", "tsv").rows[0].subject == "é" * 2000


def test_a_name_has_one_spelling() -> None:
    raw = "  Sa\u0303o\u00a0 \u2003Paulo\u2028 \tr\to\u2029\u0085p\n"
    assert read(raw, "tsv").facts == [("São Paulo", "r", "o p")]


@pytest.mark.parametrize(
    "name", ["東京", "Москва", "القاهرة", "नई दिल्ली", "ירושלים", "서울", "𐌰𐌱", "👩‍👩‍👧", "می‌خواهم"]
)
def test_every_script_passes_as_it_is(name: str) -> None:
    assert read(f"{name}\t{name}\t{name}\n", "tsv").facts == [(name, name, name)]


def test_a_long_run_of_marks_is_refused_at_once() -> None:
    line = "a" + "\u0301\u0316" * 200_000
    assert read(f"{line}\tr\to\n", "tsv").bad == [(1, "too_long")]


def test_the_names_of_the_columns_are_no_fact() -> None:
    output = read("Subject\tpredicate\tOBJECT\nsubject\trelation\tobject\n")
    assert output.facts == [("subject", "relation", "object")]
    assert output.skipped == {"header": 1}


def test_a_file_of_bad_lines_gives_no_row_and_ends_well() -> None:
    output = read("one\ntwo\nthree", "tsv")
    assert output.bad == [(1, "columns"), (2, "columns"), (3, "columns")]
    assert output.rows == []


def test_an_empty_file_of_a_named_format_gives_nothing() -> None:
    assert read(b"", "tsv").results == ()
