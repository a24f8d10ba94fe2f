"""Functions of values are what their names say, and the language has exactly those that exist."""

import pytest
import torch

from models.attention.functions import COMBINATIONS, TRANSFORMATIONS, aggregate, softmax
from models.attention.rules import parse


def test_the_language_names_exactly_the_functions_there_are() -> None:
    assert set(parse.COMBINATIONS) == set(COMBINATIONS)
    assert set(parse.TRANSFORMATIONS) == set(TRANSFORMATIONS)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("avg", [[3, 0], [5, -1]]),
        ("sum", [[6, 0], [5, -1]]),
        ("max", [[4, 7], [5, -1]]),
        ("min", [[2, -7], [5, -1]]),
        ("count", [[2], [1]]),
    ],
)
def test_groundings_of_a_head_are_aggregated(name: str, expected: list[list[float]]) -> None:
    values = torch.tensor([[2.0, 7], [5, -1], [4, -7]])[..., None]
    assert aggregate(name, values, torch.tensor([0, 1, 0]), 2).flatten(1).tolist() == expected


def test_a_softmax_of_large_scores_stays_finite() -> None:
    scores = torch.tensor([1e4, 1e4, -1e4, 3.0])[:, None, None]
    weights = softmax(scores, torch.tensor([0, 0, 0, 1]), 2)
    assert weights.flatten().tolist() == [0.5, 0.5, 0, 1]
