"""Mean reciprocal rank as the specification counts it."""

import pytest

from models.kbert.mrr import Judged, MeanReciprocalRank, mean_reciprocal_rank


def question(qid: str, *candidates: tuple[int, float]) -> list[Judged]:
    return [Judged(qid, bool(gold), score) for gold, score in candidates]


def test_the_best_gold_candidate_counts() -> None:
    rows = question("a", (0, 0.9), (1, 0.5), (1, 0.7), (0, 0.6)) + question("b", (1, 0.2), (0, 0.1))
    assert mean_reciprocal_rank(rows) == MeanReciprocalRank((1 / 2 + 1) / 2, 2, 0)


def test_a_tie_is_lost_to_wrong_candidates_but_not_to_right_ones() -> None:
    assert mean_reciprocal_rank(question("a", (1, 0.5), (0, 0.5), (0, 0.5), (1, 0.5))).value == 1 / 3


def test_a_question_without_gold_counts_nought_and_shifts_nothing() -> None:
    rows = question("a", (0, 0.9)) + question("b", (1, 0.2))
    assert mean_reciprocal_rank(rows) == MeanReciprocalRank(1 / 2, 2, 1)


def test_a_question_is_a_run_of_rows() -> None:
    rows = question("a", (1, 0.9)) + question("b", (1, 0.2)) + question("a", (1, 0.1))
    assert mean_reciprocal_rank(rows).questions == 3


def test_no_questions_have_no_rank() -> None:
    assert mean_reciprocal_rank([]) == MeanReciprocalRank(0.0, 0, 0)


def test_a_score_that_is_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match="question 'a' has no score"):
        mean_reciprocal_rank(question("a", (1, float("nan"))))
