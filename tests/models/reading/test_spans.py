"""The best span over several windows is the one that trying all of them finds."""

from collections.abc import Iterable

import torch
from hypothesis import given
from hypothesis import strategies as st

from models.reading.document import Document
from models.reading.spans import OFFSET, Span, SpanRule, Window, follow_spans, owners
from tests.models.ernie_doc.documents import document, text

MARGIN = SpanRule(longest=4, n_best=5, rank="margin")
WINDOWS = [Window(0, 8), Window(6, 14), Window(12, 16)]
CONTENT = document("the old pump by the river was built in march after the flood had left sand")


def best_spans(
    content: Document, windows: list[Window], scores: Iterable[torch.Tensor], rule: SpanRule
) -> list[Span]:
    return list(follow_spans(content, windows, range(len(windows)), scores, rule))[-1]


def logits(n_windows: int, seed: int, length: int = 12) -> torch.Tensor:
    return torch.randn(n_windows, length, 2, generator=torch.Generator().manual_seed(seed))


def point_at(scores: torch.Tensor, window: int, first: int, last: int, amount: float = 20.0) -> torch.Tensor:
    """Let a window point at tokens of the document."""
    scores = scores.clone()
    scores[window, OFFSET + first - WINDOWS[window].first, 0] += amount
    scores[window, OFFSET + last - WINDOWS[window].first, 1] += amount
    return scores


def test_the_answer_is_cut_from_the_text_of_the_window_that_points_at_it() -> None:
    best = best_spans(CONTENT, WINDOWS, point_at(logits(3, 0), 1, 8, 9), MARGIN)[0]
    assert (best.text, best.window) == ("in march", 1)
    assert CONTENT.text[best.start : best.end] == "in march"


@given(seed=st.integers(0, 1000), rank=st.sampled_from(["margin", "total"]), longest=st.integers(1, 9))
def test_no_span_is_better_than_the_best(seed: int, rank: str, longest: int) -> None:
    rule = SpanRule(longest=longest, n_best=3, rank="margin" if rank == "margin" else "total")
    scores, owner = logits(3, seed), owners(WINDOWS, 16).tolist()
    values = []
    for number, (first, last) in enumerate(WINDOWS):
        null = scores[number, 0].sum() if rank == "margin" else 0.0
        values += [
            float(scores[number, OFFSET + i - first, 0] + scores[number, OFFSET + j - first, 1] - null)
            for i in range(first, last)
            for j in range(i, min(last, i + longest))
            if owner[i] == number
        ]
    best = best_spans(CONTENT, WINDOWS, scores, rule)
    expected = sorted(values, reverse=True)[:3]
    torch.testing.assert_close(torch.tensor([rule.value(span) for span in best]), torch.tensor(expected))


def test_a_span_in_two_windows_counts_in_the_one_with_more_around_it() -> None:
    edge = point_at(torch.zeros(3, 12, 2), 0, 7, 7)
    assert all(span.start != CONTENT.cut(7, 7)[0] for span in best_spans(CONTENT, WINDOWS, edge, MARGIN))
    middle = point_at(torch.zeros(3, 12, 2), 1, 7, 7)
    assert best_spans(CONTENT, WINDOWS, middle, MARGIN)[0].text == CONTENT.text[slice(*CONTENT.cut(7, 7))]


def test_a_window_sure_of_no_answer_loses_by_margin_and_not_by_total() -> None:
    scores = point_at(point_at(torch.zeros(3, 12, 2), 0, 2, 2, 10.0), 2, 14, 14, 9.0)
    scores[0, 0] += 30.0
    assert best_spans(CONTENT, WINDOWS, scores, MARGIN)[0].text == "left"
    assert best_spans(CONTENT, WINDOWS, scores, SpanRule(4, 5, "total"))[0].text == "pump"


def test_an_answer_is_never_a_piece_of_a_word() -> None:
    content = document("they worked unbelievably hard")
    windows = [Window(0, len(content))]
    scores = torch.zeros(1, len(content) + 2, 2)
    scores[0, OFFSET + 3, :] = 9.0  # the second piece of the long word
    for span in best_spans(content, windows, scores, SpanRule(10, 20, "margin")):
        assert set(span.text.split()) <= set(content.text.split())


def test_nothing_of_question_or_padding_is_an_answer() -> None:
    content, windows = document(text(5)), [Window(0, 5)]
    scores = torch.zeros(1, 12, 2)
    scores[0, 6:] = 50.0
    assert best_spans(content, windows, scores, MARGIN)[0].total == 0.0


def test_logits_are_numbers_one_window_at_a_time() -> None:
    numbers: list[int] = []

    def stream() -> object:
        for number, part in enumerate(logits(3, 0)):
            numbers.append(number)
            yield part

    assert len(best_spans(CONTENT, WINDOWS, stream(), MARGIN)) == 5  # type: ignore[arg-type]
    assert numbers == [0, 1, 2]
