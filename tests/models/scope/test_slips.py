"""A slip is told from another name by how the words differ, and how usual their letters are."""

import pytest

from models.encoder.minilm import MiniLM
from models.scope.judge import Judge
from models.scope.wordings.slips import KINDS, NO_SLIPS, Slips, find_kind


@pytest.fixture(scope="module")
def judge() -> Judge:
    return Judge.load(MiniLM())


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        ("dlaford", "swap"),
        ("dallford", "double"),
        ("dalfrd", "omission"),
        ("daltford", "addition"),
        ("dalferd", "vowel"),
        ("dalfort", "consonant"),
        ("dalfoad", "other"),
        ("dalfords", "addition"),
        ("dalfor", "omission"),
    ],
)
def test_the_kind_of_a_difference(word: str, kind: str) -> None:
    assert find_kind(word, "dalford") == kind
    assert kind in KINDS


@pytest.mark.parametrize(
    ("word", "name", "expected"),
    [
        ("gudnebrand", "gundebrand", True),
        ("gunndebrand", "gundebrand", True),
        ("gundebrnd", "gundebrand", True),
        ("gundebrqnd", "gundebrand", True),
        ("dalferd", "dalford", False),
        ("walford", "dalford", False),
        ("elisenhof", "elisanhof", False),
        ("marinas", "marina", False),
    ],
)
def test_what_is_a_slip(judge: Judge, word: str, name: str, expected: bool) -> None:
    assert judge.slips.is_slip(word, name) is expected


def test_without_learned_weights_no_word_is_one(judge: Judge) -> None:
    assert not Slips(judge.tokenizer, NO_SLIPS).is_slip("gudnebrand", "gundebrand")
