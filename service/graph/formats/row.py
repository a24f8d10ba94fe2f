"""The output of a reader (rows, rejected lines, the error that ends a file) and its input (lines)."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

Kind = Literal["fact", "label", "alias", "description", "relation_label"]
Code = Literal["columns", "control", "empty", "encoding", "reserved", "syntax", "too_long"]


class Row(NamedTuple):
    """One statement of a file.

    Attributes:
        kind: Which statement it is.
        subject: An id where `by_id`, else the name as written, which the graph has to resolve.
        relation: "" unless the row is a fact.
        object: The text of the object; "" for an entity of which only the id is known.
        object_id: "" for a literal or an object that is written by name.
        line: Number of its line.
        by_id: True for a subject that is written by id.
    """

    kind: Kind
    subject: str
    relation: str
    object: str
    object_id: str
    line: int
    by_id: bool


class Rejection(NamedTuple):
    """A line, or one value on a Wikidata line, that is not taken; programs branch on its `code`."""

    line: int
    reason: str
    code: Code


Result: TypeAlias = Row | Rejection


class GraphFileError(ValueError):
    """The whole file cannot be read; the caller should drop the rows before the error."""


class Refused(Exception):
    """Within this package: a text or a line is rejected. Reading goes on after it."""

    def __init__(self, reason: str, code: Code) -> None:
        super().__init__(reason)
        self.reason = reason
        self.code: Code = code

    def at(self, line: int) -> Rejection:
        return Rejection(line, self.reason, self.code)


class Skipped(Exception):
    """Within this package: a well-formed statement is not taken, and counted as `why`."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class LongLine(NamedTuple):
    """Stands for a line that is too long to hold, with the number of its `"`, for readers that pair them."""

    quotes: int


Line: TypeAlias = tuple[int, bytes | LongLine]  # number, counted from 1, and content without its line feed

LINE_BYTES = 64  # memory of a line beyond its content, about
