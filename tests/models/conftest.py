"""The default checkpoint, loaded once for all tests of models."""

import pytest
import torch

from models.encoder.weights import find
from models.kit.text import WordPieces
from models.nkb.memory import BankMemory
from models.nkb.reader import ReadCache, Reader
from models.nkb.system import NkbSystem


@pytest.fixture(scope="session")
def reader(device: torch.device) -> Reader:
    """The default checkpoint of nkb, which no test changes."""
    return Reader.load(device=device)


@pytest.fixture(scope="module")
def reads(reader: Reader) -> ReadCache:
    return ReadCache(reader)


@pytest.fixture(scope="module")
def system(reader: Reader, reads: ReadCache) -> NkbSystem:
    """Load the default checkpoint, without any reads in its cache."""
    return NkbSystem(reader, reads)


@pytest.fixture(scope="module")
def memory(reader: Reader, reads: ReadCache) -> BankMemory:
    """Return the bank of the system; as the loader gives them, both share their reads."""
    return BankMemory(reader, reads)


@pytest.fixture(scope="session")
def pieces() -> WordPieces:
    return WordPieces(find().tokenizer())
