"""The phrasings of the three writers cover the pack and practice, and a split is by writer."""

import tomllib
from pathlib import Path

import pytest

from models.packs.pack import WORLD, Pack
from models.training.phrasings import HANDS, Phrasings, read_phrasings, without

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


def test_a_writer_without_a_file_is_named() -> None:
    with pytest.raises(FileNotFoundError, match="hand7"):
        read_phrasings([7])
