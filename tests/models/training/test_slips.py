"""A template is typed with slips, and its subject stays whole."""

import random

from models.training.slips import retype

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
