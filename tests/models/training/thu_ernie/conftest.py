"""Facts about a few countries, and a network that has learned them."""

import pytest

from models.training.kit.plan import Plan
from models.training.thu_ernie.learning import Learning
from models.training.thu_ernie.questions import World
from models.training.thu_ernie.training import Setup
from tests.models.training import toys


@pytest.fixture
def plan() -> Plan:
    return toys.THU_ERNIE


@pytest.fixture
def world() -> World:
    return toys.setup().world


@pytest.fixture
def setup() -> Setup:
    return toys.setup()


@pytest.fixture
def learning() -> Learning:
    return toys.trained_thu_ernie()
