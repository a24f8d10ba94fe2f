"""A call whose arrays do not fit together fails, and so does one whose result does not fit its arguments."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from beartype import BeartypeConf, beartype
from beartype.roar import BeartypeCallHintViolation
from jaxtyping import Float, Int
from torch import Tensor

from tests.shapes import with_checks

check: Callable[..., Any] = with_checks(typechecker=beartype(conf=BeartypeConf(is_pep484_tower=True)))


@check
def multiply(
    rows: Float[Tensor, "row inner"], columns: Float[Tensor, "inner column"], transpose: bool = False
) -> Float[Tensor, "row column"]:
    product = rows @ columns
    return product.T if transpose else product


@check
@dataclass
class Batch:
    ids: Int[Tensor, "sentence token"]
    lengths: Int[Tensor, " sentence"]


@check
def shout(word: str) -> str:
    return word.upper()


def test_what_fits_is_let_through() -> None:
    assert multiply(torch.ones(2, 3), torch.ones(3, 4)).shape == (2, 4)
    assert multiply(torch.ones(5, 1), columns=torch.ones(1, 5), transpose=True).shape == (5, 5)
    assert Batch(torch.ones(2, 3, dtype=torch.long), lengths=torch.ones(2, dtype=torch.long)).ids.shape == (
        2,
        3,
    )
    assert shout("peru") == "PERU"


@pytest.mark.parametrize(
    "call",
    [
        lambda: multiply(torch.ones(2, 3), torch.ones(4, 3)),
        lambda: multiply(torch.ones(2, 3), torch.ones(3)),
        lambda: multiply(torch.ones(2, 3), torch.ones(3, 4, dtype=torch.long)),
        lambda: multiply(torch.ones(2, 3), torch.ones(3, 4), transpose=True),
        lambda: Batch(torch.ones(2, 3, dtype=torch.long), torch.ones(3, dtype=torch.long)),
        lambda: shout(7),
    ],
)
def test_what_does_not_fit_fails(call: Callable[[], object]) -> None:
    with pytest.raises(BeartypeCallHintViolation):
        call()
    assert multiply(torch.ones(1, 2), torch.ones(2, 1)).shape == (1, 1), (
        "the sizes of that call are forgotten"
    )
