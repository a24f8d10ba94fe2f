"""Which relations follow each other, and which sequences are kept for the exam."""

import random
from dataclasses import replace
from itertools import pairwise

import pytest

from models.training.relational.compositions import Compositions
from tests.models.training.relational.toy import MAKER, RELATIONS

HALF = Compositions(RELATIONS, 2, 0)


def test_the_objects_of_a_relation_are_subjects_of_the_next() -> None:
    rng = random.Random(1)
    for _ in range(50):
        path = MAKER.compositions.draw(3, False, rng)
        assert all(first.object == second.subject for first, second in pairwise(path))


def test_a_held_sequence_is_never_drawn_for_training() -> None:
    rng = random.Random(1)
    for_training = {tuple(r.id for r in HALF.draw(n, False, rng)) for n in (2, 3) for _ in range(80)}
    for_exam = {tuple(r.id for r in HALF.draw(n, True, rng)) for n in (2, 3) for _ in range(80)}
    assert for_training
    assert for_exam
    assert not for_training & for_exam


def test_a_sequence_that_contains_a_held_one_is_held() -> None:
    pairs = [(a, b) for a, followers in HALF.followers.items() for b in followers if HALF.is_held((a, b))]
    longer = [(a, b, c) for a, b in pairs for c in HALF.followers[b]]
    assert longer
    assert all(HALF.is_held(ids) for ids in longer)


def test_no_single_relation_is_held() -> None:
    every_composition = replace(HALF, one_in=1)
    assert every_composition.is_held(("capital", "mayor"))
    assert not any(every_composition.is_held((id,)) for id in RELATIONS)


def test_a_path_that_cannot_be_is_an_error_and_no_endless_search() -> None:
    with pytest.raises(ValueError, match="1 relations make no trained path of 2 hops"):
        Compositions({"founded": RELATIONS["founded"]}, 2, 1).draw(2, False, random.Random(1))
