"""The pack's world, and the tokenizer."""

import pytest
from tokenizers import Tokenizer

from models.training.ernie_doc.composed import World
from tests.models.training import toys


@pytest.fixture
def world() -> World:
    return toys.documents_world()


@pytest.fixture
def tokenizer() -> Tokenizer:
    return toys.tokenizer()
