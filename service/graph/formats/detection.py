"""The format of a file, by its content."""

from __future__ import annotations

import re

from errata.tables.delimiter import DECLARATION
from errata.tables.workbook import NOT_READ, OLE, ZIP

from service.graph.formats.cleaning import excerpt
from service.graph.formats.readers import READERS
from service.graph.formats.row import GraphFileError
from service.graph.formats.sparql_tsv import is_results
from service.graph.formats.table import TABS, TRIPLE, column_name, find_places

_TRIPLE = re.compile(rb"\s*(<[A-Za-z][\w+.-]*:[^<>\s]*>|_:[^\s<]+)\s*<")
_VERSION = re.compile(rb"\s*VERSION\s+[\"']")
_DUMP = re.compile(rb"\s*(\[\s*)?(\{|$)|\s*\[\s*\]?\s*$")
_FOREIGN = {
    b"\xff\xfe": "UTF-16 text: save it as UTF-8",
    b"\xfe\xff": "UTF-16 text: save it as UTF-8",
    b"\x1f\x8b": "packed by gzip twice: unpack it once",
    OLE: f"an {NOT_READ}",
    ZIP: "an Excel workbook, or another zip archive: name the format xlsx, or none",
    b"BZh": "packed by bzip2: unpack it first",
    b"\xfd7zXZ": "packed by xz: unpack it first",
    b"\x28\xb5\x2f\xfd": "packed by zstd: unpack it first",
}


def check_readable(line: bytes) -> None:
    """Raise GraphFileError if the first line of a file shows a format that no reader knows."""
    for magic, kind in _FOREIGN.items():
        if line.startswith(magic):
            raise GraphFileError(f"the file is {kind}")


def may_be_comment(line: bytes) -> bool:
    """Return True for a line that N-Triples would skip, so that it does not settle the format."""
    return line.lstrip().startswith(b"#") and line.count(b"\t") != TABS


def names_columns(line: bytes, marks: str = "\t") -> bool:
    """Return whether a line names the three columns of facts, in any order, so that it heads a table."""
    text = line.decode(errors="replace")
    headers = ([cell.strip().strip('"') for cell in text.split(mark)] for mark in marks)
    return any(find_places(header).keys() >= TRIPLE.keys() for header in headers)


def detect(line: bytes) -> str:
    """Return the format of a file that begins with this line; raise GraphFileError if it is unclear."""
    text = line.decode(errors="replace")
    if _TRIPLE.match(line) or _VERSION.match(line) or is_results(text):
        return "nt"
    if {"node1", "label", "node2"} <= {cell.strip() for cell in text.split("\t")}:
        raise GraphFileError(
            "the file is KGTK's: name its columns subject, relation and object in place of node1, label and node2, "
            "or write N-Triples (kgtk generate-wikidata-triples)"
        )
    if DECLARATION.match(text) or names_columns(line, "\t,;"):
        return "csv"
    tabs = line.count(b"\t")
    if tabs != TABS and _DUMP.match(line):
        return "wikidata"
    if tabs == TABS:
        return "tsv"
    if "subject" in (column_name(cell.strip().strip('"')) for cell in re.split("[,;\t]", text)):
        return "csv"  # whose reader says which columns are missing
    raise GraphFileError(
        f"the first line, '{excerpt(text)}', does not show the format: name it ({', '.join(READERS)}), "
        "or begin with a header that has a column 'subject'; of a table with a row for each thing, name the column "
        "with its name (`subject`, --subject)"
    )
