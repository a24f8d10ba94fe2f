"""What a reader hands out: rows, rejected lines, and the error that ends a file. And what it is given: lines."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

Kind = Literal["fact", "label", "alias", "description", "relation_label"]
Code = Literal["columns", "control", "empty", "encoding", "reserved", "syntax", "too_long"]


class Row(NamedTuple):
    """One statement of a file.

    subject: an id where `by_id`, else the name as written, which the graph has to resolve.
    relation: "" unless the row is a fact.
    object: its text; "" for an entity of which only the id is known.
    object_id: "" for a literal or an object that is written by name.
    """

    kind: Kind
    subject: str
    relation: str
    object: str
    object_id: str
    line: int
    by_id: bool


class Rejection(NamedTuple):
    """A line, or one value on a Wikidata line, that is not taken. code: what a program branches on."""

    line: int
    reason: str
    code: Code


Result: TypeAlias = Row | Rejection


class GraphFileError(ValueError):
    """The whole file cannot be read; what was read of it before should not be kept."""


class Refused(Exception):
    """Within this package: why a text or a line is no good. Reading goes on behind it."""

    def __init__(self, reason: str, code: Code) -> None:
        super().__init__(reason)
        self.reason = reason
        self.code: Code = code

    def at(self, line: int) -> Rejection:
        return Rejection(line, self.reason, self.code)


class Skipped(Exception):
    """Within this package: something is well-formed but not taken. why: what it is counted as."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class LongLine(NamedTuple):
    """In place of a line that is too long to hold. quotes: how many `"` it has, for readers that pair them."""

    quotes: int


Line: TypeAlias = tuple[int, bytes | LongLine]
"""Its number, counted from 1, and what stands before its line feed."""

LINE_BYTES = 64  # what holding a line costs beside its content, about
