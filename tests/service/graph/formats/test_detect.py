"""The format of a file is detected from its content alone."""

from __future__ import annotations

import bz2
import gzip
import lzma

import pytest

from service.graph.formats.row import GraphFileError
from tests.service.graph.formats.drive import read


@pytest.mark.parametrize(
    ("data", "format"),
    [
        ("France\tcapital\tParis\n", "tsv"),
        ("[1]Naphtha\tr\to\n", "tsv"),
        ("# 1 fan\tof\tmany\n", "tsv"),
        ("# made by hand\nFrance\tcapital\tParis\n", "tsv"),
        ("a, b and c\tr\tsubject\n", "tsv"),
        ("subject,relation,object\na,b,c\n", "csv"),
        ('\ufeff"Object","Subject","Predicate"\r\n', "csv"),
        ("note,subject,relation,object,tab\there\n", "csv"),
        ('<http://a/s> <http://a/p> "x" .\n', "nt"),
        ('<http://a/s>\t<http://a/p>\t"x" .\n', "nt"),
        ("_:b0 <http://a/p> _:b1 .\n", "nt"),
        ("# only\n# comments\n", "nt"),
        ("\n \n\t\n# c\n_:b0 <http://a/p> _:b1 .\n", "nt"),
        ("[\n", "wikidata"),
        ("[\r\n{}\n]", "wikidata"),
        ("[]", "wikidata"),
        ('{"id": "Q1"}', "wikidata"),
        ('[{"id": "Q1"},\n', "wikidata"),
    ],
)
def test_the_first_line_that_says_something_tells_the_format(data: str, format: str) -> None:
    assert read(data).format == format
    assert read(gzip.compress(data.encode())).format == format


def test_comments_before_a_file_of_facts_are_rejected_like_any_other_line() -> None:
    output = read("# made by hand\nFrance\tcapital\tParis\n")
    assert (output.bad, len(output.rows)) == ([(1, "columns")], 1)


@pytest.mark.parametrize(
    "data",
    [
        "hello\n",
        "a,b,c\n",
        "a\tb\n",
        "<html>\n",
        "<?xml version='1.0'?>\n",
        "@prefix a: <http://a/> .\n",
        "\0" * 1000,
        "a\tb\tc\td",
    ],
)
def test_what_is_none_of_the_four_is_refused_with_its_first_line(data: str) -> None:
    with pytest.raises(GraphFileError, match=r"the first line, '.*', does not show the format: name it"):
        read(data)


@pytest.mark.parametrize("data", [b"", b"\n\n \r\n", b"\xef\xbb\xbf", gzip.compress(b"", mtime=0)])
def test_an_empty_file_is_said_to_be_empty(data: bytes) -> None:
    with pytest.raises(GraphFileError, match="the file is empty"):
        read(data)


@pytest.mark.parametrize("format", [None, "tsv", "csv", "nt", "wikidata"])
@pytest.mark.parametrize(
    ("data", "kind"),
    [
        ("a\tb\tc\n".encode("utf-16"), "UTF-16"),
        (b"\xfe\xff" + "a\tb\tc\n".encode("utf-16-be"), "UTF-16"),
        (b"PK\x03\x04rest", "Excel workbook"),
        (bz2.compress(b"a\tb\tc\n"), "bzip2"),
        (lzma.compress(b"a\tb\tc\n"), "xz"),
        (gzip.compress(gzip.compress(b"a\tb\tc\n", mtime=0), mtime=0), "gzip twice"),
    ],
)
def test_a_file_of_another_kind_is_named(data: bytes, kind: str, format: str | None) -> None:
    with pytest.raises(GraphFileError, match=kind):
        read(data, format)


def test_a_first_line_without_end_is_refused() -> None:
    with pytest.raises(GraphFileError, match="the first line is too long"):
        read(b"x" * 17_000_000)


def test_a_first_line_longer_than_its_format_allows_is_rejected() -> None:
    output = read(b"a\tb\t" + b"c" * 2_000_000 + b"\na\tb\tc\n")
    assert (output.format, output.bad, len(output.rows)) == ("tsv", [(1, "too_long")], 1)
