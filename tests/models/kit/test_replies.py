"""A reply gives the best answer or withholds it; the others share what it leaves."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.graph.knowledge import Fact
from models.kit.replies import clip, decline, fact_json, log_odds, reply, share_rest
from models.system import UNSURE, Alternative, Reply


def test_a_reason_withholds_the_best_answer_and_keeps_all_else() -> None:
    given_answer = reply("Lima", 0.9, None, ("e1", "", "e2", "e1"), [("Cusco", 0.05)], truncated=True)
    assert given_answer == Reply(
        "Lima", 0.9, "Lima", None, ("e1", "e2"), (Alternative("Cusco", 0.05),), truncated=True
    )
    assert reply("Lima", 0.2, UNSURE) == Reply(None, 0.2, "Lima", UNSURE)
    assert decline(UNSURE, ("e1",)) == Reply(None, 0.0, "", UNSURE, ("e1",))


@given(st.floats(0, 1), st.lists(st.floats(0.001, 5), min_size=1, max_size=5), st.floats(0, 3))
def test_the_rest_is_shared_in_proportion(score: float, weights: list[float], no_answer: float) -> None:
    shares = share_rest(score, weights, no_answer)
    assert sum(shares) == pytest.approx((1 - score) * sum(weights) / (sum(weights) + no_answer))
    assert [share * weights[0] for share in shares] == pytest.approx(
        [shares[0] * weight for weight in weights]
    )


def test_log_odds_are_finite_and_values_are_clipped() -> None:
    assert log_odds(0.5) == 0
    assert [log_odds(0.0), -log_odds(1.0)] == pytest.approx([math.log(1e-6)] * 2, rel=1e-6)
    assert [clip(value, 2.0) for value in (-9.0, 1.0, 9.0)] == [-2.0, 1.0, 2.0]


def test_a_fact_is_named_with_its_subject_and_its_edit() -> None:
    fact = Fact("capital", "capital city", "Lima", "Q2868", "e1")
    assert fact_json("Q419", "Peru", fact) == {
        "entity": "Q419",
        "subject": "Peru",
        "relation": "capital",
        "label": "capital city",
        "object": "Lima",
        "edit": "e1",
    }
