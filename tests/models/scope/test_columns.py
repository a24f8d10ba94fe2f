"""A reader of the index of rows finds every pair, wherever a writer merges them meanwhile."""

import numpy as np
import pytest

from models.scope.wordings.row_index import MAX_RECENT, RowIndex
from tests.models.interleaving import before_line

KEY, ROW = 5, 1


def merge(index: RowIndex) -> None:
    hashes = np.arange(10, 11 + MAX_RECENT)
    index.add(hashes, np.arange(len(hashes)))


@pytest.mark.parametrize("line", range(6))
def test_a_merge_while_rows_are_looked_up_hides_none(line: int) -> None:
    index = RowIndex()
    index.add(np.array([KEY]), np.array([ROW]))
    with before_line(RowIndex.rows_of, line, lambda: merge(index)):
        assert index.rows_of(KEY) == [ROW]
    assert index.rows_of(KEY) == [ROW]


@pytest.mark.parametrize("line", range(10))
def test_a_merge_while_first_rows_are_looked_up_hides_none(line: int) -> None:
    index = RowIndex()
    index.add(np.array([KEY]), np.array([ROW]))
    with before_line(RowIndex.first_rows, line, lambda: merge(index)):
        assert index.first_rows(np.array([KEY])).tolist() == [ROW]


@pytest.mark.parametrize("line", range(10))
def test_a_key_is_read_while_its_first_row_is_added(line: int) -> None:
    index = RowIndex()
    firsts: list[list[int]] = []
    with before_line(RowIndex.add, line, lambda: firsts.append(index.first_rows(np.array([KEY])).tolist())):
        index.add(np.array([KEY]), np.array([ROW]))
    assert firsts in ([], [[-1]], [[ROW]])
