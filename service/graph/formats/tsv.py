"""Facts by name: subject, tab, relation, tab, object, as K-BERT's `.spo` files hold them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from service.graph.formats.detect import TABS
from service.graph.formats.row import Line, LongLine, Refused, Result, Row
from service.graph.formats.text import clean, clean_relation, decode

_HEADERS = {("subject", "relation", "object"), ("subject", "predicate", "object")}


class TsvReader:
    max_line_bytes = 1_000_000

    def __init__(self, language: str) -> None:
        self.skipped: Counter[str] = Counter()
        self._is_first = True

    def read(self, lines: Iterable[Line]) -> Iterator[Result]:
        for number, line in lines:
            if not isinstance(line, LongLine) and not line.strip(b" \r"):
                continue
            try:
                columns = decode(line).split("\t")
                if len(columns) != TABS + 1:
                    plural = "s" * (len(columns) > 1)
                    raise Refused(f"{len(columns)} column{plural} instead of {TABS + 1}", "columns")
                # Some programs write the names of the columns first; they are no fact.
                if self._is_first and tuple(name.strip().casefold() for name in columns) in _HEADERS:
                    self.skipped["header"] += 1
                else:
                    subject, relation, text = columns
                    name = clean("subject", subject)
                    yield Row(
                        "fact", name, clean_relation(relation), clean("object", text), "", number, False
                    )
            except Refused as refused:
                yield refused.at(number)
            self._is_first = False

    def end(self) -> Iterator[Result]:
        return iter(())
