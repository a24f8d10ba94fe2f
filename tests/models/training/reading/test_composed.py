"""Passages made of facts hold the answer that they ask for, and splits share no subject."""

import random

import pytest

from models.packs.pack import WORLD, Pack
from models.training.reading.composed import PassageMaker
from models.training.reading.written.texts import Split
from models.training.thu_ernie.plan import DEFAULT
from models.training.thu_ernie.wordings import Wordings


@pytest.fixture(scope="module")
def pack() -> Pack:
    return Pack.load(WORLD)


def make(pack: Pack, split: Split) -> PassageMaker:
    return PassageMaker(pack, Wordings.of(pack).train, DEFAULT.mixture, split)


def test_a_passage_says_what_it_asks_for_or_does_not(pack: Pack) -> None:
    rng = random.Random(5)
    passages = [make(pack, "train").compose(rng) for _ in range(60)]
    assert 5 < sum(passage.answer is None for passage in passages) < 30
    objects = {fact.object for fact in pack.facts}
    assert all(passage.expected in objects for passage in passages if passage.answer is not None)


def test_splits_share_no_subject(pack: Pack) -> None:
    rng = random.Random(8)
    train, test = ({make(pack, split).compose(rng).entity for _ in range(40)} for split in ("train", "test"))
    assert not train & test
