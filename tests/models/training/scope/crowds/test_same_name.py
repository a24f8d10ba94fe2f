"""A name in another spelling is the same name, unless another one of the crowd is spelt so."""

import random

import pytest

from models.training.scope.crowds.crowd import Crowd, RealCrowds, draw_crowd
from models.training.scope.crowds.same_name import same_name


@pytest.mark.parametrize(
    ("style", "name", "spellings"),
    [
        ("person", "Anna Berg", {"anna berg", "Berg, Anna", "A. Berg", "Berg"}),
        ("person", "Carl IX", {"Carl the Ninth"}),
        ("company", "Falcon Ltd", {"Falcon"}),
        ("product", "the Falcon 3", {"Falcon 3", "the Falcon three", "the Falcon no. 3", "the Falcon-3"}),
        ("code", "gate B12", {"gate B 12", "gate B-12", "the gate B12"}),
        ("law", "the Noise Act 1911", {"the Noise Act of 1911", "the 1911 Noise Act"}),
        ("event", "the 2010 book fair", {"book fair 2010", "the book fair of 2010"}),
        ("town", "Köping", {"Koping", "the town of Köping"}),
    ],
)
def test_a_name_is_written_otherwise(rng: random.Random, style: str, name: str, spellings: set[str]) -> None:
    crowd = Crowd(style, (style,), (name, "Something Else"))
    assert spellings <= {same_name(name, crowd, rng) for _ in range(500)}


def test_a_last_name_that_two_have_is_not_enough(rng: random.Random) -> None:
    crowd = Crowd("person", ("person",), ("Anna Berg", "Omar Berg"))
    spellings = {same_name("Anna Berg", crowd, rng) for _ in range(300)}
    assert "Berg, Anna" in spellings
    assert not {name for name in spellings if "anna" not in name.lower() and "A." not in name}


def test_another_name_of_the_crowd_is_never_written(rng: random.Random, real: RealCrowds) -> None:
    for _ in range(2_000):
        crowd = draw_crowd(rng, real)
        name, *rest = crowd.names
        assert same_name(name, crowd, rng).casefold() not in {other.casefold() for other in rest}
