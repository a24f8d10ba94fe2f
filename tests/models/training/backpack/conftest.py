"""A plan that takes a second, on forty facts of the pack."""

from dataclasses import replace

import pytest

from models.backpack.answering.prompt import Speller
from models.backpack.config import BackpackConfig
from models.packs.pack import Pack
from models.training.backpack.learning import Batches
from models.training.backpack.plan import DEFAULT, Plan
from models.training.backpack.texts import Texts, learn_tokenizer

VOCAB = 320
PLAN = replace(
    DEFAULT,
    model=BackpackConfig(
        vocab=VOCAB, words=VOCAB, senses=2, width=16, layers=1, heads=2, positions=128, epsilon=1e-5, end=0
    ),
    plain_layers=2,
    vocab=VOCAB,
    documents=8,
    sorted_steps=2,
    steps=4,
    keep_every=2,
    warmup=1,
)


@pytest.fixture(scope="session")
def plan() -> Plan:
    return PLAN


@pytest.fixture(scope="session")
def small_pack() -> Pack:
    pack = Pack.load()
    return replace(pack, facts=pack.facts[:40])


@pytest.fixture(scope="session")
def texts(small_pack: Pack) -> Texts:
    return Texts(small_pack, PLAN.texts, PLAN.seed)


@pytest.fixture(scope="session")
def speller(texts: Texts) -> Speller:
    return Speller.of(learn_tokenizer(texts.documents(0), VOCAB))


@pytest.fixture(scope="session")
def batches(texts: Texts, speller: Speller) -> Batches:
    return Batches(PLAN, texts, speller)
