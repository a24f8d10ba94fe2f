"""A plan that takes a second, on forty facts of the pack."""

import pytest

from models.backpack.reader import Speller
from models.training.backpack.texts import Texts
from models.training.kit.plan import Plan
from tests.models.training import toys


@pytest.fixture
def plan() -> Plan:
    return toys.BACKPACK


@pytest.fixture
def texts() -> Texts:
    return toys.backpack_texts()


@pytest.fixture
def speller() -> Speller:
    return toys.speller()
