"""Triples from `.spo` lines: subject, tab, predicate, tab, object (specs/kbert.md, section 2).

A line that is not a triple is skipped and reported with its place, and the next line is read as if it were not
there.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from models.kbert.tags import TAGS

MARK = "\N{ZERO WIDTH NO-BREAK SPACE}"  # what some editors write before the first line


@dataclass(frozen=True, slots=True)
class Triple:
    """source, line: where it was read; lines count from 1. Empty and 0 when it came from no file."""

    subject: str
    predicate: str
    object: str
    source: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True)
class BadLine:
    source: str
    line: int
    reason: str


@dataclass(frozen=True, slots=True)
class Parsed:
    """Triples in file order, repeated ones included: the graph drops those."""

    triples: tuple[Triple, ...]
    bad: tuple[BadLine, ...]


def read_spo(path: Path) -> Parsed:
    with path.open("rb") as lines:
        return parse_spo(lines, str(path))


def parse_spo(lines: Iterable[str | bytes], source: str = "") -> Parsed:
    """Lines with or without their ends. Bytes are read as UTF-8."""
    triples: list[Triple] = []
    bad: list[BadLine] = []
    for number, line in enumerate(lines, start=1):
        fields = _fields(line)
        if isinstance(fields, str):
            bad.append(BadLine(source, number, fields))
        else:
            triples.append(Triple(*fields, source, number))
    return Parsed(tuple(triples), tuple(bad))


def fault(subject: str, predicate: str, obj: str) -> str | None:
    """Why these three cannot be a triple; None when they can."""
    for name, field in (("subject", subject), ("predicate", predicate), ("object", obj)):
        if not field:
            return f"the {name} is empty"
    if "\t" in subject:
        return "the subject contains a tab"
    if subject in TAGS:
        return f"the subject is the tag {subject}"
    return None


def _fields(line: str | bytes) -> tuple[str, str, str] | str:
    """The three fields without the space around them, or what is wrong with the line."""
    try:
        text = line.decode() if isinstance(line, bytes) else line
    except UnicodeDecodeError as cause:
        return f"not UTF-8 ({cause.reason} at byte {cause.start})"
    columns = text.removeprefix(MARK).rstrip("\r\n").split("\t")
    if len(columns) != 3:
        return f"{len(columns)} columns instead of 3"
    subject, predicate, obj = (column.strip() for column in columns)
    return fault(subject, predicate, obj) or (subject, predicate, obj)
