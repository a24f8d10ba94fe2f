"""Several replies: the surest corrected one is taken, but an answer to this very question before older facts."""

from __future__ import annotations

import pytest

from service.choice import Standing, choose, repeats_words


def standing(score: float, edited_in: int = 0, *, facts: bool = False, wording: str = "") -> Standing:
    return Standing(True, False, score, edited_in, ("Peru",) if facts else (), wording)


DECLINE = Standing(False, False, 0.99)


@pytest.mark.parametrize(
    ("standings", "expected"),
    [
        ([standing(0.95, 200), standing(1.0, 108, facts=True)], 0),
        ([standing(0.95, 5), standing(1.0, 108, facts=True)], 1),
        ([standing(0.6, 200), standing(1.0, 108, facts=True)], 1),
        ([standing(1.0, 5), standing(0.95, 200)], 1),
        ([standing(0.4, 200), standing(0.9)], 1),
        ([standing(0.6, 200), standing(0.9)], 0),
        ([standing(0.7, 5, wording="Who rules Chile?"), standing(0.95, facts=True)], 1),
        ([standing(0.95, 5, wording="Who rules Chile?"), standing(0.96, facts=True)], 0),
        ([standing(0.7, 5, wording="Who rules PERU?"), standing(0.95, facts=True)], 0),
        ([standing(0.7, 5, wording="Who rules Chile?"), standing(0.8, facts=True)], 0),
        ([standing(0.7, 5), standing(0.95, facts=True)], 0),
        ([DECLINE, standing(0.2)], 1),
        ([Standing(False, True, 1.0), DECLINE], 1),
        ([DECLINE], 0),
    ],
)
def test_the_newest_answer_to_the_question_comes_first_and_then_the_surest(
    standings: list[Standing], expected: int
) -> None:
    assert choose(standings) == expected


def test_an_answer_of_words_of_the_question_repeats_it() -> None:
    assert repeats_words("Lima", "Is LIMA the capital?")
    assert not repeats_words("Lim", "Is Lima the capital?")
    assert not repeats_words("", "Is Lima the capital?")
