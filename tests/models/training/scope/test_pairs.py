"""The kinds of pairs: the same fact asked for twice, or one thing changed."""

import random
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import pytest

from models.packs.pack import WORLD, Pack
from models.training.packs.names import read_names
from models.training.scope.facts import WrittenFacts
from models.training.scope.names import Names
from models.training.scope.natural import Natural
from models.training.scope.pairs import DIFFERENT, PairMaker, TrainingPair, read_forms
from models.training.scope.plan import DEFAULT
from models.training.scope.relations import Relations
from models.training.scope.rewrites import Rewriter
from models.training.scope.wordnet import WordNet

PLAIN = replace(DEFAULT.mix, same=0.4, with_statement=0.0, sentences=0.0, fact_share=0.0)


@pytest.fixture
def maker(relations: Relations, facts: WrittenFacts, sets: Path, wordnet: WordNet) -> PairMaker:
    forms = read_forms()
    names = Names(Pack.load(WORLD), "train", forms)
    rewriter = Rewriter(forms, wordnet)
    return PairMaker(relations.train, names, Natural(sets), facts.train, rewriter, forms, random.Random(1))


def by_kind(pairs: list[TrainingPair]) -> dict[str, list[TrainingPair]]:
    kinds: dict[str, list[TrainingPair]] = defaultdict(list)
    for pair in pairs:
        kinds[pair.kind].append(pair)
    return kinds


def test_every_kind_is_drawn_in_the_shares_of_the_plan(maker: PairMaker) -> None:
    pairs = maker.draw(12_000, PLAIN)
    kinds = by_kind(pairs)
    assert set(DIFFERENT) < set(kinds)
    assert set(kinds) - set(DIFFERENT) == {"template", "pos.rephrase", "pos.disfluent", "slip"}
    assert sum(pair.is_same for pair in pairs) / len(pairs) == pytest.approx(0.4, abs=0.05)
    for kind, group in kinds.items():
        if kind in DIFFERENT and kind != "swapped_words":
            assert not any(pair.is_same for pair in group)


def test_written_facts_are_asked_for_and_missed(maker: PairMaker, facts: WrittenFacts) -> None:
    pairs = maker.draw(1_000, replace(PLAIN, fact_share=1.0))
    assert sum(pair.is_same for pair in pairs) == pytest.approx(400, abs=60)
    assert len({pair.kind for pair in pairs}) > 15
    texts = {text for fact in facts.train for text in (*fact.wordings, *(near for _, near in fact.near))}
    as_written = [pair for pair in pairs if {pair.first, pair.second} <= texts]
    assert 200 < len(as_written) < 900, "the others are about something else, or written as people write"
    for pair in as_written:
        owners = [fact for fact in facts.train if {pair.first, pair.second} <= {*fact.wordings}]
        assert pair.is_same == bool(owners)


def test_no_name_of_the_test_half_is_drawn() -> None:
    names = Names(Pack.load(WORLD), "train", read_forms())
    test_names = {name.name for name in read_names("test")}
    rng = random.Random(2)
    names_seen = {
        names.draw(type, rng) for type in ("person", "shop", "place", "nothing like it") for _ in range(500)
    }
    assert not names_seen & test_names
    assert len(names_seen) > 1_000
