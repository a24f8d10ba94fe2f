"""The score of a span falls with a rival of another text and with the number of windows, by the fitted weights."""

from math import log

import pytest

from models.confidence import Confidence, sigmoid
from models.reading.confidence import FARTHEST, rate, read_features
from models.reading.spans import Span


def span(text: str, margin: float) -> Span:
    return Span(margin, 0.0, 0, len(text), text, 0)


def test_a_rival_is_a_span_with_another_text() -> None:
    spans = [span("Anna Keller", 5.0), span("anna keller", 4.0), span("Keller", 2.0)]
    assert read_features(spans[0], spans, 7) == (5.0, 3.0, pytest.approx(log(7)))


def test_a_span_without_a_rival_is_as_far_from_one_as_can_be() -> None:
    only = span("March", 90.0)
    assert read_features(only, [only], 1) == (FARTHEST, FARTHEST, 0.0)


def test_scores_are_fitted_and_never_rise() -> None:
    spans = [span("a", 3.0), span("b", 1.0), span("c", 0.0)]
    scale = Confidence((0.5, 0.25, -1.0), 0.1, 0.0)
    scores = rate(spans, 2, scale)
    assert scores[0] == pytest.approx(sigmoid(0.1 + 1.5 + 0.5 - log(2)))
    assert scores == sorted(scores, reverse=True)
    against_rivals = Confidence((-1.0, 0.0, 0.0), 0.0, 0.0)  # weights that would prefer the worst span
    assert len(set(rate(spans, 2, against_rivals))) == 1
