"""The phrasings of the three writers cover the pack and practice, splits are by writer, and slips are as told."""

import random
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from models.packs.pack import WORLD, Pack
from models.training.phrasings import (
    CHOOSE_HANDS,
    HANDS,
    TEST_HANDS,
    Phrasings,
    read_phrasings,
    retype,
    reword,
    without,
)

PRACTICE = Path("models/training/kbert/practice.toml")


def test_every_relation_has_the_words_of_every_writer() -> None:
    relations = {*Pack.load(WORLD).relations, *tomllib.loads(PRACTICE.read_text("utf-8"))}
    assert set(read_phrasings()) == relations
    for hand in HANDS:
        for phrasings in read_phrasings([hand]).values():
            assert len(phrasings.questions) == 8
            assert len(phrasings.nouns) == 3
            assert all(text.count("{subject}") == 1 for text in (*phrasings.questions, *phrasings.nouns))


def test_writers_share_hardly_any_question() -> None:
    first, second = (read_phrasings([hand]) for hand in (1, 2))
    shared = sum(len({*first[id].questions} & {*second[id].questions}) for id in first)
    assert shared < 0.08 * 8 * len(first)


def test_what_others_wrote_too_is_left_out_but_for_the_last_noun_phrases() -> None:
    third = {
        "capital": Phrasings(("Capital of {subject}?", "who rules {subject}"), ("the capital of {subject}",))
    }
    first = {"capital": Phrasings(("capital of {subject}",), ("The capital of {subject}",))}
    assert without(third, first) == {"capital": Phrasings(("who rules {subject}",), third["capital"].nouns)}


def test_a_pack_is_trained_on_in_one_writers_words_and_held_in_anothers() -> None:
    pack = Pack.load(WORLD)
    tuning, test = reword(pack, CHOOSE_HANDS), reword(pack, TEST_HANDS)
    first, third = read_phrasings([1]), read_phrasings([3])
    for id, relation in test.relations.items():
        assert relation.phrasings == tuning.relations[id].phrasings
        assert relation.phrasings[0] == pack.relations[id].phrasings[0]
        trained = {text.casefold().rstrip(" .?!") for text in relation.phrasings}
        assert {text.casefold().rstrip(" .?!") for text in first[id].questions} <= trained
        assert len(trained) == len(relation.phrasings)
        assert relation.held_out
        assert set(relation.held_out) <= set(third[id].questions)
        for texts in (relation.held_out, tuning.relations[id].held_out):
            assert not trained & {text.casefold().rstrip(" .?!") for text in texts}


def test_a_relation_without_writers_stays_as_it_is() -> None:
    pack = Pack.load(WORLD)
    strange = replace(pack.relations["capital"], id="strange")
    assert reword(replace(pack, relations={"strange": strange}), TEST_HANDS).relations == {"strange": strange}


def test_a_writer_without_a_file_is_named() -> None:
    with pytest.raises(FileNotFoundError, match="hand7"):
        read_phrasings([7])


TEMPLATE = "Which currency does {subject} use?"


def draw(slip: float, bare: float) -> set[str]:
    rng = random.Random(1)
    return {retype(TEMPLATE, slip, bare, rng) for _ in range(200)}


def test_slips_are_as_frequent_as_they_are_told_to_be() -> None:
    assert draw(0.0, 0.0) == {TEMPLATE}
    assert draw(0.0, 1.0) == {TEMPLATE.rstrip("?")}
    rng = random.Random(2)
    n_changed = sum(retype(TEMPLATE, 0.3, 0.0, rng) != TEMPLATE for _ in range(2000))
    assert 450 < n_changed < 650


def test_one_word_is_spelt_wrong_and_the_subject_is_not() -> None:
    for text in draw(1.0, 0.0):
        assert text.count("{subject}") == 1
        assert sum(word not in TEMPLATE.split() for word in text.split()) <= 1


def test_a_template_of_short_words_stays() -> None:
    assert retype("who is {subject}", 1.0, 0.0, random.Random(1)) == "who is {subject}"
