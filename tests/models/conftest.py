"""The default checkpoint, loaded once for all tests of models."""

import pytest
import torch

from models.nkb.reader import Reader
from models.nkb.system import NkbSystem


@pytest.fixture(scope="session")
def reader(device: torch.device) -> Reader:
    """The default checkpoint of nkb, which nobody changes."""
    return Reader.load(device=device)


@pytest.fixture(scope="module")
def system(reader: Reader) -> NkbSystem:
    """The default checkpoint, and nothing read with it yet."""
    return NkbSystem(reader)
