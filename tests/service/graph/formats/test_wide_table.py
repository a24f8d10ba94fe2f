"""A table with a row for each thing is read as people have it; a sheet that cannot be one is refused in words."""

from __future__ import annotations

import gzip
from io import BytesIO

import pytest

from service.graph.formats.reader import GraphFileReader
from service.graph.formats.row import GraphFileError, Row
from tests.service.graph.formats.drive import Output, read
from tests.workbooks import workbook

SHEET = "Museum{0}Director{0}Opening hours{0}Phone\nTide Mill{0}Ida Brook{0}{0}555 01\nRope Walk{0}{0}10{0}555 02\n"
FACTS = [
    ("Tide Mill", "Director", "Ida Brook"),
    ("Tide Mill", "Phone", "555 01"),
    ("Rope Walk", "Opening hours", "10"),
    ("Rope Walk", "Phone", "555 02"),
]


def read_wide(data: str | bytes, subject: str = "Museum") -> Output:
    reader = GraphFileReader(None, "en", subject)
    content = data.encode() if isinstance(data, str) else data
    results = list(reader.read(BytesIO(content)))
    return Output(reader.format, reader.lines, dict(reader.skipped), tuple(results))


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("mark", "beginning"),
    [
        *((mark, beginning) for mark in ",;\t" for beginning in ("", "\ufeff")),
        *((mark, beginning) for mark in ",;\t|" for beginning in ("\ufeffsep={0}\n", '"sep={0}"\n')),
    ],
)
def test_each_cell_is_a_fact_whatever_stands_between_them(mark: str, line_end: str, beginning: str) -> None:
    output = read_wide((beginning + SHEET).format(mark).replace("\n", line_end))
    assert (output.facts, output.bad, output.skipped) == (FACTS, [], {"empty_cell": 2})
    assert [row.line - beginning.count("\n") for row in output.rows] == [2, 2, 3, 3]


WORKBOOK = workbook([line.split(";") for line in SHEET.format(";").splitlines()])


@pytest.mark.parametrize("packed", [False, True])
def test_a_workbook_is_the_same_table_packed_or_not(packed: bool) -> None:
    reader = GraphFileReader(None, "en", "Museum")
    results = list(reader.read(BytesIO(gzip.compress(WORKBOOK) if packed else WORKBOOK)))
    output = Output(reader.format, reader.lines, dict(reader.skipped), tuple(results))
    assert (output.facts, output.bad, output.skipped) == (FACTS, [], {"empty_cell": 2})
    assert (output.format, output.lines, [row.line for row in output.rows]) == ("xlsx", 3, [2, 2, 3, 3])


def test_a_workbook_may_be_a_table_of_facts() -> None:
    content = workbook([["subject", "relation", "object"], ["Peru", "founded", 1821]])
    assert read(content).facts == [("Peru", "founded", "1821")]


def test_a_million_rows_of_a_workbook_are_too_many_bytes_or_all_read() -> None:
    output = read_wide(workbook([["Museum", "Phone"], *([f"Museum {n}", n] for n in range(20_000))]))
    assert (len(output.facts), output.facts[-1]) == (20_000, ("Museum 19999", "Phone", "19999"))


def test_columns_are_the_relations_that_the_order_says() -> None:
    columns = {"opening hours": "open", "Phone": ""}
    reader = GraphFileReader(None, "en", "Museum", columns=columns)
    results = list(reader.read(BytesIO(SHEET.format(";").encode())))
    assert [(row.relation, row.object) for row in results if isinstance(row, Row)] == [
        ("Director", "Ida Brook"),
        ("open", "10"),
    ]


@pytest.mark.parametrize("mark", [";", "\t", ","])
@pytest.mark.parametrize("beginning", ["", "sep={0}\r\n"])
@pytest.mark.parametrize("note", ["", "{0}note"])
def test_a_table_of_facts_may_have_the_same_marks(mark: str, beginning: str, note: str) -> None:
    rows = f"subject{{0}}relation{{0}}object{note}\r\nPeru{{0}}capital{{0}}Lima{note}\r\n"
    output = read(("\ufeff" + beginning + rows).format(mark))
    assert (output.facts, output.bad) == ([("Peru", "capital", "Lima")], [])


def test_a_row_of_empty_cells_is_none_in_a_table_of_facts() -> None:
    output = read(";;\r\nsubject;relation;object\r\n;;\r\nPeru;capital;Lima\r\n ; ;\r\n", "csv")
    assert (output.facts, output.bad) == ([("Peru", "capital", "Lima")], [])


def test_a_cell_with_marks_and_quotes_stands_in_quotes_and_its_lines_are_values() -> None:
    output = read_wide('museum;Note\nTide Mill;"a; ""b""\n\n and c"\nRope Walk;d\n')
    assert output.facts == [("Tide Mill", "Note", 'a; "b"'), ("Rope Walk", "Note", "d")]
    assert [row.further for row in output.rows] == [("and c",), ()]


def test_a_bad_cell_and_a_bad_row_are_rejected_alone_and_empty_rows_are_none() -> None:
    output = read_wide("Museum,Phone,Price\nTide Mill,#REF!,5\nRope Walk,1,2,3\n,,\n,1,2\nOak,#N/A,7\n")
    assert output.facts == [("Tide Mill", "Price", "5"), ("Oak", "Price", "7")]
    assert output.bad == [(2, "syntax"), (3, "columns"), (5, "empty"), (6, "syntax")]
    assert "Phone of Tide Mill shows the error of a formula, #REF!" in output.reasons[0]


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ("Museum,Phone,phone\na,b,c\n", "two columns are called phone"),
        ("House,Phone\na,b\n", "no column is called 'Museum': the header is 'House, Phone'"),
        ("Museum\na\n", "there is no column beside 'Museum'"),
        (",".join(["Museum", *(f"c{n}" for n in range(299))]) + "\n", "the table has 300 columns"),
        (b"PK\x03\x04...", "no Excel workbook that can be read"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "locked by a password, or of Excel 97: save it as .xlsx"),
        (workbook([["Museum", "Phone"], ["Tide Mill", "1"]], merge="A2:A3"), "A2:A3 .* are merged"),
        (workbook([["Museum", *range(299)]]), "the table has 300 columns"),
        (workbook([["Museum", "Phone", "phone "]]), "two columns are called phone"),
        ('Museum,Phone\nOak,"1\n', "never closed"),
    ],
)
def test_a_sheet_that_cannot_be_used_is_refused_with_what_to_do(data: str | bytes, problem: str) -> None:
    with pytest.raises(GraphFileError, match=problem):
        read_wide(data)


def test_a_table_of_another_format_is_refused() -> None:
    with pytest.raises(GraphFileError, match="the format is nt"):
        GraphFileReader("nt", "en", "Museum")
