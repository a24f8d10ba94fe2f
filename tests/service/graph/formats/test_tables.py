"""Tables of facts: tab-separated and wide ones."""

import gzip
import re
from io import BytesIO

import pytest
from openpyxl import load_workbook

from service.graph.formats.reader import GraphFileReader
from service.graph.formats.row import GraphFileError, Row
from tests.service.graph.formats.drive import Output, read
from tests.workbooks import workbook


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
    assert (output.format, output.skipped) == ("csv", {})


@pytest.mark.parametrize(
    "header",
    [
        "head\trelation\ttail",
        "node1\tproperty\tnode2",
        "source,edge,target",
        "item,property,value,id",
    ],
)
def test_a_line_of_words_for_the_parts_of_a_triple_is_a_header(header: str) -> None:
    record = re.sub(r"\w+", "Oak", header)
    assert read(f"{header}\n{record}\n").facts == [("Oak", "Oak", "Oak")]
    assert read("head\tcapital\ttail\n").facts == [("head", "capital", "tail")]


def test_a_file_of_bad_lines_gives_no_row_and_ends_well() -> None:
    output = read("one\ntwo\nthree", "tsv")
    assert output.bad == [(1, "columns"), (2, "columns"), (3, "columns")]
    assert output.rows == []


def test_an_empty_file_of_a_named_format_gives_nothing() -> None:
    assert read(b"", "tsv").results == ()


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


def test_hidden_cells_of_a_workbook_are_no_facts_and_old_dates_are_rejected() -> None:
    book = load_workbook(
        BytesIO(workbook([["Museum", "Salary", "Opened"], ["Tide Mill", 9, "1895-04-01"], ["Ark", 8, -10]]))
    )
    sheet = book.worksheets[0]
    sheet["C3"].number_format = "yyyy-mm-dd"
    sheet.column_dimensions["B"].hidden = True
    file = BytesIO()
    book.save(file)
    output = read_wide(file.getvalue())
    assert output.facts == [("Tide Mill", "Opened", "1895-04-01")]
    assert output.bad == [(3, "syntax")]
    assert output.skipped == {"hidden_column": 1}


def test_a_workbook_may_be_a_table_of_facts() -> None:
    content = workbook([["subject", "relation", "object"], ["Peru", "founded", 1821]])
    assert read(content).facts == [("Peru", "founded", "1821")]


def test_a_fault_of_a_workbook_is_no_part_of_a_fact() -> None:
    rows = [
        ["subject", "relation", "object"],
        ["Ark", "opened", 60],
        ["#N/A", "opened", 1],
        ["Ark", "cost", "#REF!"],
    ]
    book = load_workbook(BytesIO(workbook(rows)))
    book.worksheets[0]["C2"].number_format = "yyyy-mm-dd"
    file = BytesIO()
    book.save(file)
    output = read(file.getvalue())
    assert (output.rows, output.bad) == ([], [(2, "syntax"), (3, "syntax"), (4, "syntax")])
    assert "the object is a date that workbooks cannot hold" in output.reasons[0]
    assert read_wide("Museum,Phone\n#N/A,5\n").bad == [(2, "syntax")]


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
