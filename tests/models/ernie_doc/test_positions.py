"""The row of the position table for each query and key is the paper's."""

import pytest
import torch
from torch import Tensor

from models.ernie_doc.network import feed_order, shift

CPU = torch.device("cpu")


def row_index(segment: int, memory: int) -> Tensor:
    """Return row(i, j) for each query and key."""
    distance = memory + torch.arange(segment)[:, None] - torch.arange(memory + segment)
    return torch.where(distance > 0, segment - 1 + distance, -distance)


def test_the_example_of_four_tokens_and_two_slots() -> None:
    assert row_index(4, 2).tolist() == [
        [5, 4, 0, 1, 2, 3],
        [6, 5, 4, 0, 1, 2],
        [7, 6, 5, 4, 0, 1],
        [8, 7, 6, 5, 4, 0],
    ]


def test_the_last_row_of_the_authors_table_is_never_used() -> None:
    rows = row_index(512, 128)
    assert set(rows.unique().tolist()) == set(range(1151))


@pytest.mark.parametrize(("segment", "memory"), [(4, 2), (1, 1), (5, 7), (16, 6)])
def test_shifting_scores_in_feed_order_picks_the_row_of_each_key(segment: int, memory: int) -> None:
    rows = feed_order(segment, memory, CPU).float().expand(2, 3, segment, -1)
    by_key = shift(rows)
    assert by_key.equal(row_index(segment, memory).float().expand_as(by_key))
