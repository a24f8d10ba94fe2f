"""What facts and context say for a candidate; and a context as sentences."""

import pytest

from models.kbert.options import Option, Options
from models.kbert.sentences import MOST, sentences
from models.kbert.support import says, supports

READ = Options((Option("Oslo", 4.0), Option("Rome", 1.0)), nothing=0.0)


def test_the_candidate_that_the_best_option_names_has_most_support() -> None:
    given = supports(READ, ["Rome", "He was born in OSLO.", "Paris"])
    assert given[1] > 0 > given[0] > given[2]


def test_without_options_nothing_speaks_for_anyone() -> None:
    assert supports(None, ["a", "b"]) == [0.0, 0.0]
    assert supports(Options((), 0.0), ["a"]) == [0.0]


def test_doubt_is_no_evidence() -> None:
    (doubted,) = supports(Options((Option("Oslo", -9.0),), nothing=9.0), ["Paris"])
    assert abs(doubted) < 0.05


@pytest.mark.parametrize(
    ("text", "name", "expected"), [("in oslo.", "oslo", True), ("oslofjord", "oslo", False)]
)
def test_a_name_is_said_as_whole_words(text: str, name: str, expected: bool) -> None:
    assert says(text, name) is expected
    assert says(text, "") is False


def test_a_context_is_cut_where_sentences_end() -> None:
    assert sentences(' It rains. "Why?" Nobody\nknows!  3.5 km. ') == [
        "It rains.",
        '"Why?"',
        "Nobody",
        "knows!",
        "3.5 km.",
    ]
    assert sentences("J. K. Rowling wrote it. It sold.") == ["J. K. Rowling wrote it.", "It sold."]
    assert sentences(" \n ") == []
    assert len(sentences("a. " * 500)) == MOST
