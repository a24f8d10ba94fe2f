"""The phrasings of the three writers cover the pack and practice, splits are by writer, and slips are as told."""

import random
import tomllib
from pathlib import Path

from models.packs.pack import WORLD, Pack
from models.training.texts.phrasings import (
    HANDS,
    read_phrasings,
    retype,
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


TEMPLATE = "Which currency does {subject} use?"


def draw(slip: float, bare: float) -> set[str]:
    rng = random.Random(1)
    return {retype(TEMPLATE, slip, bare, rng) for _ in range(200)}
