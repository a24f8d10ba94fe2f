"""Facts by name: subject, tab, relation, tab, object, as K-BERT's `.spo` files hold them."""

from __future__ import annotations

from collections.abc import Iterator

from service.graph.formats.base import Reader
from service.graph.formats.detect import TABS
from service.graph.formats.row import Refused, Result, Row, Skipped
from service.graph.formats.text import clean, clean_relation

_HEADERS = {("subject", "relation", "object"), ("subject", "predicate", "object")}


class TsvReader(Reader):
    _is_first = True

    def read_line(self, text: str, number: int) -> Iterator[Result]:
        if not text.strip(" \r"):
            return
        is_first, self._is_first = self._is_first, False
        columns = text.split("\t")
        if len(columns) != TABS + 1:
            plural = "s" * (len(columns) > 1)
            raise Refused(f"{len(columns)} column{plural} instead of {TABS + 1}", "columns")
        # Some programs write the names of the columns first, which are not a fact.
        if is_first and tuple(name.strip().casefold() for name in columns) in _HEADERS:
            raise Skipped("header")
        subject, relation, object = columns
        name = clean("subject", subject)
        yield Row("fact", name, clean_relation(relation), clean("object", object), "", number, False)
