"""The kinds of pairs: the same fact asked for twice, or one thing changed."""

import random
from collections import defaultdict

import pytest

from models.packs.pack import WORLD, Pack
from models.training.packs.names import read_names
from models.training.scope.facts import TrainingPair, WrittenFacts
from models.training.scope.names import Names
from models.training.scope.pairs import PairMaker, Source, read_forms
from models.training.scope.training import PLAN

PLAIN = {"same": 0.4, "with_statement": 0.0, "sentences": 0.0, "fact_share": 0.0}
DIFFERENT = set(PLAN.different.numbers)


def draw(source: Source, count: int, **mix: float) -> list[TrainingPair]:
    return PairMaker(source, PLAN.change(mix={**PLAIN, **mix}), random.Random(1)).draw(count)


def by_kind(pairs: list[TrainingPair]) -> dict[str, list[TrainingPair]]:
    kinds: dict[str, list[TrainingPair]] = defaultdict(list)
    for pair in pairs:
        kinds[pair.kind].append(pair)
    return kinds


def test_every_kind_is_drawn_in_the_shares_of_the_plan(source: Source) -> None:
    pairs = draw(source, 12_000)
    kinds = by_kind(pairs)
    assert set(kinds) > DIFFERENT
    assert set(kinds) - DIFFERENT == {"template", "pos.rephrase", "pos.disfluent", "slip"}
    assert sum(pair.is_same for pair in pairs) / len(pairs) == pytest.approx(0.4, abs=0.05)
    for kind, group in kinds.items():
        if kind in DIFFERENT and kind != "swapped_words":
            assert not any(pair.is_same for pair in group)


def test_written_facts_are_asked_for_and_missed(source: Source, facts: WrittenFacts) -> None:
    pairs = draw(source, 1_000, fact_share=1.0)
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
