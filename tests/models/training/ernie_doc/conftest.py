"""The pack's world, read once, and the tokenizer."""

import pytest
from tokenizers import Tokenizer

from models.ernie_doc.loading.minilm import load_tokenizer
from models.packs.pack import Pack
from models.training.ernie_doc.composed import World, build_world


@pytest.fixture(scope="session")
def pack() -> Pack:
    return Pack.load()


@pytest.fixture(scope="session")
def world(pack: Pack) -> World:
    return build_world(pack, "train")


@pytest.fixture(scope="session")
def tokenizer() -> Tokenizer:
    return load_tokenizer()
