"""Crowds: different names that share words, sounds or numbers, and none of a test."""

import random
import re
from collections import Counter

from models.training.scope.crowds.crowd import (
    RealCrowds,
    draw_crowd,
    invent_crowd,
    neighbour,
    read_styles,
    read_words,
    two_of,
)
from models.training.scope.trials import CROWDS, read_crowds


def test_the_names_of_a_crowd_differ(rng: random.Random, real: RealCrowds) -> None:
    for _ in range(500):
        crowd = draw_crowd(rng, real)
        assert len({name.casefold() for name in crowd.names}) == len(crowd.names) > 1
        first, second = two_of(crowd, rng)
        assert first.casefold() != second.casefold()


def test_no_name_has_a_hole(rng: random.Random) -> None:
    for _ in range(1_000):
        for name in invent_crowd(rng).names:
            assert not re.search(r"[{}\[\]]|  |^ | $|\d\.0{2}", name), name


def test_every_style_is_drawn_and_most_crowds_share_a_part(rng: random.Random) -> None:
    crowds = [invent_crowd(rng) for _ in range(2_000)]
    assert set(Counter(crowd.style for crowd in crowds)) == set(read_styles())
    shared = [
        set.intersection(*(set(zip(name.lower(), name.lower()[1:], strict=False)) for name in crowd.names))
        for crowd in crowds
    ]
    assert sum(bool(letters) for letters in shared) > 0.6 * len(crowds)


def test_real_names_stand_together_by_word_beginning_or_letter(rng: random.Random, real: RealCrowds) -> None:
    groups = {frozenset(real.draw(rng).names) for _ in range(2_000)}
    assert {"Anna Lindqvist", "Erik Lindqvist"} in groups
    assert {"Paris", "Pares"} in groups
    assert {"Bad Homburg", "Bad Nauheim"} in groups
    assert not any({"Lyon", "Omar Haddad"} <= names for names in groups)


def test_stems_of_the_test_are_never_made(rng: random.Random) -> None:
    stems = tuple(read_words()["test_stem"])
    towns = [crowd for crowd in (invent_crowd(rng) for _ in range(3_000)) if crowd.style == "town"]
    single = [name.lower() for crowd in towns for name in crowd.names if len(name.split()) == 1]
    assert len(single) > 1_000
    assert not [name for name in single if name.startswith(stems)]


def test_a_neighbour_differs_in_a_vowel_or_in_its_first_letter(rng: random.Random) -> None:
    for _ in range(200):
        other = neighbour("Bad Homburg", rng)
        assert other is None or sum(a != b for a, b in zip("Bad Homburg", other, strict=True)) == 1
    assert neighbour("Li 3", rng) is None


def test_another_hand_wrote_crowds_for_the_test() -> None:
    trial = read_crowds()
    assert CROWDS.name == "open.jsonl"
    kinds = Counter(question.kind for question in trial.questions)
    assert kinds == {"follows": 488, "another fact of the name": 732, "absent name": 488}
    assert all(question.edit is None for question in trial.questions if question.kind != "follows")
