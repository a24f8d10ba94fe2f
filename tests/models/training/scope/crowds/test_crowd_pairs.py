"""The pairs of crowds, families and covered words come in their shares, and are what they say."""

import random
from collections import Counter

import pytest

from models.packs.pack import WORLD, Pack
from models.training.scope.crowds.coverage import Coverage
from models.training.scope.crowds.crowd import RealCrowds
from models.training.scope.crowds.families import read_families
from models.training.scope.crowds.pairs import CrowdPairs
from models.training.scope.names import Names
from models.training.scope.pairs import read_forms
from models.training.scope.plan import DEFAULT
from models.training.scope.relations import Relations
from models.training.scope.rewrites import Rewriter
from models.training.scope.wordnet import WordNet


@pytest.fixture
def maker(relations: Relations, wordnet: WordNet, rng: random.Random) -> CrowdPairs:
    forms = read_forms()
    names = Names(Pack.load(WORLD), "train", forms)
    parts = read_families(5), Coverage.read(), names, RealCrowds(names.by_type), Rewriter(forms, wordnet)
    return CrowdPairs(relations.train, *parts, rng)


def test_the_kinds_come_in_their_shares(maker: CrowdPairs) -> None:
    pairs = maker.draw(4_000, DEFAULT.mix)
    assert sum(pair.is_same for pair in pairs) / len(pairs) == pytest.approx(DEFAULT.mix.same, abs=0.03)
    kinds = Counter(pair.kind.replace("same_name", "crowd") for pair in pairs)
    mix = DEFAULT.mix
    for kind, share in (("crowd", mix.crowds), ("family", mix.families), ("covered", mix.coverage)):
        assert kinds[kind] / len(pairs) == pytest.approx(share / mix.near, abs=0.04)


def test_two_names_are_never_the_same_question(maker: CrowdPairs) -> None:
    pairs = [maker.about_names(False) for _ in range(1_000)]
    assert not [pair for pair in pairs if pair.first.casefold() == pair.second.casefold()]
    assert {pair.kind for pair in pairs} == {"crowd"}


def test_two_relations_of_a_family_are_asked_of_one_name(maker: CrowdPairs) -> None:
    for _ in range(300):
        pair = maker.about_relations(False)
        assert pair.first != pair.second
