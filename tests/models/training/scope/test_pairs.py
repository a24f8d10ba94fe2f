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
from models.training.scope.pairs import DIFFERENT, PairMaker, TrainingPair, read_forms, rename
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


def test_a_mix_may_ask_more_often_about_two_relations_of_one_subject(maker: PairMaker) -> None:
    rare, often = (
        len(by_kind(maker.draw(3_000, replace(PLAIN, other_relation=weight)))["other_relation"])
        for weight in (20, 120)
    )
    assert often > 2.5 * rare


def test_two_sides_of_a_different_pair_never_read_alike(maker: PairMaker) -> None:
    assert all(p.first.casefold() != p.second.casefold() for p in maker.draw(1_000, replace(PLAIN, same=0.0)))


def test_something_may_be_said_before_either_side(maker: PairMaker) -> None:
    statements = ("The man of the dog barks .", "It often rains in Oslo .")
    pairs = maker.draw(1_000, replace(PLAIN, with_statement=0.5))
    sides = [(p.first.startswith(statements), p.second.startswith(statements)) for p in pairs]
    assert sum(first for first, _ in sides) > 150
    assert sum(second for _, second in sides) > 150


def test_questions_may_be_sentences_to_be_completed(maker: PairMaker) -> None:
    pairs = maker.draw(1_000, replace(PLAIN, sentences=1.0))
    ends = (" is", " was", " are", " were", " in", " by")
    assert sum(pair.first.rstrip("?").endswith(ends) for pair in pairs) > 150
    assert sum(pair.second.rstrip("?").endswith(ends) for pair in pairs) > 150


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


def test_a_name_is_renamed_on_both_sides_or_on_none() -> None:
    same = TrainingPair("Who is the mayor of Brandholm?", "mayor brandholm name", True, "fact")
    result = rename(same, "Brandholm", "Oslo")
    assert (result.first, result.second) == ("Who is the mayor of Oslo?", "mayor oslo name")
    nameless = replace(same, second="who runs the town hall")
    assert rename(nameless, "Brandholm", "Oslo") == nameless
    near = TrainingPair("Who is the mayor of Brandholm?", "Who is the mayor of Skivebro?", False, "subject")
    assert rename(near, "Brandholm", "Oslo").first == "Who is the mayor of Oslo?"


def test_no_name_of_the_test_half_is_drawn() -> None:
    names = Names(Pack.load(WORLD), "train", read_forms())
    test_names = {name.name for name in read_names("test")}
    rng = random.Random(2)
    names_seen = {
        names.draw(type, rng) for type in ("person", "shop", "place", "nothing like it") for _ in range(500)
    }
    assert not names_seen & test_names
    assert len(names_seen) > 1_000


def test_a_name_that_looks_alike_is_another() -> None:
    names, rng = Names(Pack.load(WORLD), "train", read_forms()), random.Random(3)
    alike = [names.alike("Falcon A8", "product", rng) for _ in range(200)]
    assert sum(name != "Falcon A8" for name in alike) > 190
    assert any(name.startswith("Falcon A8 ") for name in alike)
    assert "Falcon" in alike


@pytest.mark.parametrize(
    ("rewrite", "question", "results"),
    [
        ("other_word", "What is the minimum of X?", {"What is the maximum of X?"}),
        ("other_word", "Who are the aunts of Jo?", {"Who are the nieces of Jo?"}),
        ("other_synonym", "Who are the aunts of Jo?", {"Who are the aunties of Jo?"}),
        ("other_question_word", "Who founded Acme?", {"Why founded Acme?", "When founded Acme?"}),
        ("negate", "Where is Oslo?", {"Where is not Oslo?", "Where is never Oslo?"}),
        ("negate", "When did Acme start?", {"When did Acme not start?", "When did Acme never start?"}),
    ],
)
def test_a_rewrite_changes_one_thing(
    wordnet: WordNet, rewrite: str, question: str, results: set[str]
) -> None:
    rewriter, rng = Rewriter(read_forms(), wordnet), random.Random(4)
    assert results <= {getattr(rewriter, rewrite)(question, rng) for _ in range(300)}


def test_a_question_without_a_place_for_a_change_is_left(wordnet: WordNet) -> None:
    rewriter, rng = Rewriter(read_forms(), wordnet), random.Random(5)
    assert rewriter.other_word("Oslo?", rng) is None
    assert rewriter.negate("capital of Peru", rng) is None
    assert rewriter.qualify("capital of Peru", rng) is None
    assert rewriter.other_name("what is it", ["Peru"], rng) is None


def test_missing_sets_say_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="--sets"):
        Natural(tmp_path)
