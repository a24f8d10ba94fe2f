"""Functions of values are what their names say, and the language has exactly those that exist."""

import pytest
import torch

from models.rules import parse
from tests.parity.attention.functions import (
    COMBINATIONS,
    TRANSFORMATIONS,
    aggregate,
    multiply,
    normalize,
    softmax,
)


def test_the_language_names_exactly_the_functions_there_are() -> None:
    assert set(parse.COMBINATIONS) == set(COMBINATIONS)
    assert set(parse.TRANSFORMATIONS) == set(TRANSFORMATIONS)


def test_a_weight_multiplies_from_the_left() -> None:
    weight, value = torch.tensor([[1.0, 2], [3, 4], [5, 6]]), torch.tensor([[[1.0], [10]]])
    assert multiply(weight, value).flatten().tolist() == [21, 43, 65]
    assert multiply(torch.tensor([[3.0]]), value).flatten().tolist() == [3, 30]


def test_norm_is_a_layer_norm_without_gain_and_with_its_own_epsilon() -> None:
    values = torch.randn(4, 6, 1, dtype=torch.float64)
    expected = torch.nn.functional.layer_norm(values, (6, 1), eps=1e-10)
    torch.testing.assert_close(normalize(values), expected)


def test_transformations_keep_what_they_should() -> None:
    values = torch.randn(3, 4, 1)
    assert TRANSFORMATIONS["slice"](values, 1, 3).equal(values[:, 1:3])
    assert TRANSFORMATIONS["transpose"](values).shape == (3, 1, 4)
    torch.testing.assert_close(TRANSFORMATIONS["softmax"](values).sum(1), torch.ones(3, 1))


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


def test_concat_needs_as_many_groundings_of_every_head() -> None:
    values, head = torch.tensor([1.0, 2, 3, 4])[:, None, None], torch.tensor([1, 0, 1, 0])
    assert aggregate("concat", values, head, 2).flatten(1).tolist() == [[2, 4], [1, 3]]
    with pytest.raises(ValueError, match=r"as many groundings of every head, not \[1, 3\]"):
        aggregate("concat", values, torch.tensor([0, 0, 0, 1]), 2)


def test_a_softmax_of_large_scores_stays_finite() -> None:
    scores = torch.tensor([1e4, 1e4, -1e4, 3.0])[:, None, None]
    weights = softmax(scores, torch.tensor([0, 0, 0, 1]), 2)
    assert weights.flatten().tolist() == [0.5, 0.5, 0, 1]
