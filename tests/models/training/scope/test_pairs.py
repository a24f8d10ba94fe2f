"""The kinds of pairs: the same fact asked for twice, or one thing changed.

The written facts: the content of each line, and that no test fact is among them.
Crowds: different names that share words, sounds or numbers, and none of a test.
Pairs and trials in which the order of two names, or a figure, decides.
"""

import random
from collections import Counter, defaultdict
from dataclasses import replace

import pytest

from models.packs.pack import WORLD, Pack
from models.training.packs.names import read_names
from models.training.scope.crowds.crowd import invent_crowd, read_words
from models.training.scope.facts import TrainingPair
from models.training.scope.names import Names
from models.training.scope.order.frames import (
    SLOT,
    put_names,
    read_figures,
    read_frames,
    split_figures,
    split_frames,
)
from models.training.scope.order.pairs import OrderPairs
from models.training.scope.order.trials import OTHER_FIGURE, TURNED_NAMES, ask_figures, ask_order
from models.training.scope.pairs import PairMaker, Source, read_forms
from models.training.scope.relations import Read
from models.training.scope.training import PLAN
from models.training.scope.trials import CROWDS, FOLLOWS, read_crowds, read_near
from models.training.scope.written import ALIKE, WrittenFacts, read_facts, split_facts

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


def test_each_fact_has_other_wordings_and_near_questions(facts: WrittenFacts) -> None:
    assert len(facts.choose) == 25
    for fact in (*facts.train, *facts.choose):
        assert len(fact.same) >= 6
        assert len(fact.near) >= 10
        texts = [text.casefold() for text in (*fact.wordings, *(near for _, near in fact.near))]
        assert len(set(texts)) == len(texts), fact.question
        assert all(name in fact.question for name in fact.names)


def test_none_is_both_learned_from_and_chosen_by(facts: WrittenFacts) -> None:
    assert not {fact.question for fact in facts.train} & {fact.question for fact in facts.choose}


def test_what_resembles_a_test_is_left_out(facts: WrittenFacts, read: Read) -> None:
    tests = read_near().edits
    questions = [fact.question for fact in (*facts.train, *facts.choose)]
    assert float((read(questions) @ read(tests).T).max()) < ALIKE
    left_out = facts.train[0]
    fewer = split_facts(read_facts(), 25, PLAN.seed, [*tests, left_out.question], read)
    assert left_out not in (*fewer.train, *fewer.choose)


def test_stems_of_the_test_are_never_made() -> None:
    rng, stems = random.Random(4), tuple(read_words()["test_stem"])
    towns = [crowd for crowd in (invent_crowd(rng) for _ in range(1_000)) if crowd.style == "town"]
    single = [name.lower() for crowd in towns for name in crowd.names if len(name.split()) == 1]
    assert len(single) > 300
    assert not [name for name in single if name.startswith(stems)]


def test_another_hand_wrote_crowds_for_the_test() -> None:
    trial = read_crowds()
    assert CROWDS.name == "open.jsonl"
    kinds = Counter(question.kind for question in trial.questions)
    assert kinds == {"follows": 488, "another fact of the name": 732, "absent name": 488}
    assert all(question.edit is None for question in trial.questions if question.kind != "follows")


def test_every_frame_has_two_names_in_each_wording_and_names_of_its_kinds() -> None:
    frames = read_frames()
    assert (len(frames.frames), sum(frame.is_symmetric for frame in frames.frames)) == (610, 168)
    for frame in frames.frames:
        texts = [*(text for wording in frame.wordings for text in wording), *frame.other_questions]
        assert all("{a}" in text and "{b}" in text for text in texts), frame.label
        assert all(len(frames.names[kind]) > 2 for kind in frame.kinds)


def test_whole_kinds_and_whole_sorts_are_held_out() -> None:
    parts = split_frames(5)
    kinds = [{frame.kinds for frame in part.frames} for part in parts]
    assert len(set.union(*kinds)) == sum(map(len, kinds))
    assert sum(len(part.frames) for part in parts) == 610 + len(read_frames("verbs.txt").frames)
    assert len(parts[2].frames) > 80
    train, test = split_figures(5)
    assert len(train) + len(test) == len(read_figures()) == 105
    assert not {sort.label for sort in train} & {sort.label for sort in test}


@pytest.mark.parametrize(
    ("wording", "text"),
    [
        ("{a} or {b}?", "Ann or oil?"),
        ("Is there a {b} in {a}?", "Is there an oil in ann?"),
        ("date {b} lost to {a}", "date oil lost to ann"),
    ],
)
def test_names_are_put_into_a_wording_as_people_write_them(wording: str, text: str) -> None:
    assert put_names(wording, "ann", "oil") == text


def test_an_exchange_makes_another_question_in_asymmetric_frames_alone(source: Source) -> None:
    whole = replace(source, frames=read_frames(), sorts=read_figures())
    draws = OrderPairs(whole, PLAN, random.Random(1)).draw(2_000, 500)
    turned_pairs = [pair for pair in draws if pair.kind == "exchanged"]
    assert len(turned_pairs) > 300
    assert not any(pair.is_same for pair in turned_pairs)
    assert sum(pair.is_same for pair in draws) == pytest.approx(1_250, abs=100)
    with_equal_words = [pair for pair in draws if sorted(pair.first.split()) == sorted(pair.second.split())]
    assert {pair.is_same for pair in with_equal_words} == {True, False}, "equal words give nothing away"


def test_a_trial_asks_with_the_names_exchanged_and_for_another_figure() -> None:
    order, figures = ask_order(split_frames(5)[2], 5), ask_figures(split_figures(5)[1], 5)
    for trial, kind in ((order, TURNED_NAMES), (figures, OTHER_FIGURE)):
        assert {question.kind for question in trial.questions} >= {kind, FOLLOWS}
        assert all((question.edit is not None) == (question.kind == FOLLOWS) for question in trial.questions)
        assert not any(SLOT in question.text or "{" in question.text for question in trial.questions[:50])
