"""Questions that one word tells apart: the word differs, or is missing on one side."""

import random
import re

import pytest

from models.training.scope.crowds.coverage import SLOT, SUBJECT, Coverage, Question


@pytest.fixture
def coverage() -> Coverage:
    return Coverage.read()


def test_every_wording_has_the_subject_and_known_words(coverage: Coverage) -> None:
    assert len(coverage.questions) > 10
    for question in coverage.questions:
        for wording in (*question.frames, *question.plain):
            slots = SLOT.findall(wording)
            assert slots.count("s") == 1, wording
            assert set(slots) <= {"s", *coverage.words}, wording


def test_the_same_is_asked_for_in_the_same_words_or_their_synonyms(
    coverage: Coverage, rng: random.Random
) -> None:
    [day] = [
        question for question in coverage.questions if any(f == "is {s} open {day}" for f in question.frames)
    ]
    names = [set(words) for words in coverage.words["day"]]
    for _ in range(300):
        sides = coverage.ask(day, rng, is_same=True)
        days = [{n for n, ways in enumerate(names) if any(way in side for way in ways)} for side in sides]
        assert days[0] & days[1] or not any(days), sides


def test_another_question_has_another_word_or_lacks_it(coverage: Coverage, rng: random.Random) -> None:
    words = {"day": [["Monday", "Mondays"], ["Friday"]]}
    small = Coverage((Question(("shop",), ("{s} {day}",), ("{s}",), True),), words)
    pairs = {small.ask(small.questions[0], rng, is_same=False) for _ in range(300)}
    monday = {f"{SUBJECT} Monday", f"{SUBJECT} Mondays"}
    lacking = {f"{SUBJECT} Friday", SUBJECT}
    assert pairs == {
        *((a, b) for a in monday for b in lacking),
        *((f"{SUBJECT} Friday", b) for b in (*monday, SUBJECT)),
    }
    same = {small.ask(small.questions[0], rng, is_same=True) for _ in range(300)}
    assert (SUBJECT, SUBJECT) in same
    assert all((a in monday) == (b in monday) and (a == SUBJECT) == (b == SUBJECT) for a, b in same)


def test_no_question_keeps_a_place_for_a_word(coverage: Coverage, rng: random.Random) -> None:
    for question in coverage.questions:
        for is_same in (True, False):
            for side in coverage.ask(question, rng, is_same=is_same):
                assert not re.search(r"[{}]", side.replace(SUBJECT, ""))
