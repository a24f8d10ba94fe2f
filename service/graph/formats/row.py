"""The output of a reader (rows, rejected lines, the error that ends a file) and its input (lines)."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

from models.graph.statement import NO_QUALIFIERS

Kind = Literal["fact", "label", "alias", "description", "relation_label", "same_as"]
Code = Literal["columns", "control", "empty", "encoding", "reserved", "syntax", "too_long"]
LINE_BYTES = 64  # approximate memory of a line beyond its content


class Row(NamedTuple):
    kind: Kind  # kind of the statement
    subject: str  # an id if `by_id`, otherwise the name as written, which the graph has to resolve
    relation: str  # relation of a fact; "" for other kinds
    object: str  # text of the object; "" for an entity that is known by its id only
    object_id: str  # "" for a literal or an object that is written by name
    line: int  # number of its line
    by_id: bool  # whether the subject is written by id
    # Further lines of a table's cell, each a value unless the relation holds one
    further: tuple[str, ...] = ()
    # Why a name or description yields to another one: other_language for the tag of a region or script; "" if not
    yields: str = ""
    qualifiers: tuple[str, ...] = ()  # begin, end, point in time, unit and rank of a fact that has some
    source: str = ""  # name of the graph that holds the fact

    @property
    def details(self) -> tuple[str, ...]:
        """Return what qualifies a fact, and its source, where it has some."""
        return (*(self.qualifiers or NO_QUALIFIERS), self.source) if self.source else self.qualifiers


class Rejection(NamedTuple):
    """A line, or one value on a Wikidata line, that is not used; programs branch on its `code`."""

    line: int
    reason: str
    code: Code


Result: TypeAlias = Row | Rejection


class GraphFileError(ValueError):
    """The whole file cannot be read; the caller should drop the rows before the error."""


class Refused(Exception):
    """A text or a line is rejected, and reading continues after it. Only this package raises and catches it."""

    def __init__(self, reason: str, code: Code) -> None:
        super().__init__(reason)
        self.reason = reason
        self.code: Code = code

    def at(self, line: int) -> Rejection:
        return Rejection(line, self.reason, self.code)


class Skipped(Exception):
    """A well-formed statement is not used, and counted as `why`. Only this package raises and catches it."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class LongLine(NamedTuple):
    """A placeholder for a line that is too long to hold, with the number of its `"`, for readers that pair them."""

    quotes: int


Line: TypeAlias = tuple[int, bytes | LongLine]  # number, counted from 1, and content without its line feed
