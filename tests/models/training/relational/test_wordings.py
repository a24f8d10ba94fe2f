"""A path in words: the last relation asks, the others stand inside of it as noun phrases."""

import random
from dataclasses import replace

from models.packs.pack import Pack
from models.training.kbert.relations import split_relations
from models.training.phrasings import read_phrasings
from models.training.relational.plan import DEFAULT, TEST_HANDS, TRAIN_HANDS
from models.training.relational.wordings import COUNT, ENTITIES, YES_NO
from tests.models.training.relational.toy import MAKER, MIXTURE, RELATIONS

CHAIN = (RELATIONS["capital"], RELATIONS["mayor"], RELATIONS["spouse"])


def test_noun_phrases_stand_inside_each_other() -> None:
    text = MAKER.wordings.draw(CHAIN, ENTITIES, random.Random(1))
    assert text == "Who married the mayor of the capital of {subject}?"


def test_other_forms_are_frames_around_a_noun_phrase() -> None:
    rng = random.Random(1)
    assert MAKER.wordings.draw(CHAIN[:1], COUNT, rng) == "How many are the capital of {subject}?"
    assert MAKER.wordings.draw(CHAIN[:1], YES_NO, rng) == "Is {object} the capital of {subject}?"


def test_frames_by_label_ask_for_relations_whose_values_are_entities() -> None:
    frames = replace(
        MAKER.wordings.frames,
        count=(),
        yes_no=(),
        count_by_label=("How many {labels} has {subject}?",),
        yes_no_by_label=("Is {object} a {label} of {subject}?",),
    )
    words, rng = replace(MAKER.wordings, frames=frames), random.Random(1)
    assert words.draw(CHAIN[:2], COUNT, rng) == "How many mayors has the capital of {subject}?"
    assert words.draw(CHAIN[:1], YES_NO, rng) == "Is {object} a capital of {subject}?"
    all_frames = replace(words, frames=replace(frames, count=("Count {noun}.",)))
    year = {all_frames.draw((RELATIONS["founded"],), COUNT, rng) for _ in range(20)}
    assert year == {"Count the founding year of {subject}."}, "a year is no entity that is counted"


def test_slips_spare_the_places_of_names() -> None:
    rng = random.Random(1)
    wordings = replace(MAKER.wordings, mixture=replace(MIXTURE, slip=1.0, bare=0.5))
    texts = {wordings.draw(CHAIN, YES_NO, rng) for _ in range(100)}
    assert all(text.count("{subject}") == text.count("{object}") == 1 for text in texts)
    assert len(texts) > 20


def test_every_relation_has_words_of_every_writer() -> None:
    relations = split_relations(Pack.load(), DEFAULT.seed, DEFAULT.n_tuning)
    ids = {*relations.train, *relations.tune, *relations.held_out}
    for hands in (TRAIN_HANDS, TEST_HANDS):
        phrasings = read_phrasings(hands)
        assert all(phrasings[id].questions and phrasings[id].nouns for id in ids)
    assert not set(TRAIN_HANDS) & set(TEST_HANDS)
