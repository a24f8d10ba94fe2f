"""Real names of a few types, and a source of draws."""

import random

import pytest

from models.training.scope.crowds.crowd import RealCrowds

BY_TYPE = {
    "city": ["Paris", "Pares", "Parma", "Lyon", "Lyons", "Bad Homburg", "Bad Nauheim", "Turin"],
    "person": ["Anna Lindqvist", "Erik Lindqvist", "Anna Berg", "Omar Haddad"],
}


@pytest.fixture
def rng() -> random.Random:
    return random.Random(4)


@pytest.fixture
def real() -> RealCrowds:
    return RealCrowds(BY_TYPE)
