"""The rows of one import are bounded in bytes on the disk."""

from __future__ import annotations

from collections import deque

import pytest

from service.errors import TooLarge
from service.graph.imports.bucket_builder import LINES_PER_WRITE, Spool, SpooledRow

ROW: SpooledRow = ("Q1", "r", "x" * 90, "", "add")


def test_rows_beyond_the_bound_are_refused() -> None:
    rows = Spool(10 * LINES_PER_WRITE * 100)
    with pytest.raises(TooLarge, match="import the file in several parts"):
        deque(map(rows.add, [ROW] * 11 * LINES_PER_WRITE))
    assert rows.rows <= 10 * LINES_PER_WRITE
    rows.close()
