"""Crowds: different names that share words, sounds or numbers, and none of a test."""

import random
from collections import Counter

from models.training.scope.crowds.crowd import invent_crowd, read_words
from models.training.scope.trials import CROWDS, read_crowds


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
