"""Facts by name: subject, tab, relation, tab, object, as K-BERT's `.spo` files hold them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from service.graph.formats.detect import TABS
from service.graph.formats.row import Line, LongLine, Read, Refused, Row
from service.graph.formats.text import clean, clean_relation, decoded

_HEADERS = {("subject", "relation", "object"), ("subject", "predicate", "object")}


class TsvReader:
    most_bytes = 1_000_000

    def __init__(self, language: str) -> None:
        self.left_out: Counter[str] = Counter()
        self._begun = False

    def read(self, lines: Iterable[Line]) -> Iterator[Read]:
        for number, line in lines:
            if not isinstance(line, LongLine) and not line.strip(b" \r"):
                continue
            try:
                columns = _columns(decoded(line))
                if self._begun or not self._is_header(columns):
                    yield _fact(columns, number)
            except Refused as refused:
                yield refused.at(number)
            self._begun = True

    def end(self) -> Iterator[Read]:
        return iter(())

    def _is_header(self, columns: list[str]) -> bool:
        """Some programs write the names of the columns first; they are no fact."""
        found = tuple(column.strip().casefold() for column in columns) in _HEADERS
        if found:
            self.left_out["header"] += 1
        return found


def _columns(text: str) -> list[str]:
    columns = text.split("\t")
    if len(columns) != TABS + 1:
        raise Refused(f"{len(columns)} column{'s' * (len(columns) > 1)} instead of {TABS + 1}", "columns")
    return columns


def _fact(columns: list[str], number: int) -> Row:
    subject, relation, told = columns
    return Row(
        "fact", clean("subject", subject), clean_relation(relation), clean("object", told), "", number, False
    )
