"""Entities from tags, with facts hung in between."""

from collections.abc import Callable

import pytest

from models.kbert import Reader, Triple
from models.kbert.spans import Span, span_scores, spans

Read = Callable[..., Reader]
O = "O"  # noqa: E741 - the tag's own name


def test_an_entity_goes_on_behind_the_facts_of_its_words(reader: Read) -> None:
    triples = Triple("北京", "是", "首都"), Triple("山", "是", "东")
    text = "在北京山好"
    row = reader(*triples, predicate=False).tagging(text)
    assert "".join(token.text for token in row.tokens) == "在北京首都山东好"
    tags = [O, "B-LOC", "I-LOC", "[ENT]", "[ENT]", "I-LOC", "[ENT]", O]
    assert spans(row, tags) == [Span("LOC", 1, 4)]
    wrong = [O, "B-LOC", "I-LOC", O, "B-PER", "I-LOC", "I-LOC", O]
    assert spans(row, wrong) == [Span("LOC", 1, 4)], "whatever was said of injected tokens"
    trailing = [O, "B-LOC", "I-LOC", "[ENT]", "[ENT]", "[ENT]", "[ENT]", "[ENT]"]
    assert spans(row, trailing) == [Span("LOC", 1, 3)]


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ("O O O O", []),
        ("B-A B-A I-A O", [("A", 0, 1), ("A", 1, 3)]),
        ("I-A I-A O I-A", [("A", 0, 2), ("A", 3, 4)]),
        ("B-A I-B I-B B-B", [("A", 0, 1), ("B", 1, 3), ("B", 3, 4)]),
        ("B-A [ENT] I-A O", [("A", 0, 3)]),
        ("B-A [PAD] I-A O", [("A", 0, 1), ("A", 2, 3)]),
    ],
)
def test_tags_become_spans(reader: Read, tags: str, expected: list[tuple[str, int, int]]) -> None:
    row = reader().tagging("爱吃哈在")
    assert spans(row, tags.split()) == [Span(*span) for span in expected]


def test_spans_are_places_in_the_text_as_it_was_given(reader: Read) -> None:
    row = reader(predicate=False).tagging(" 在 北京 好")
    tags = [O, "B-LOC", "I-LOC", "[ENT]", "[ENT]", O]
    assert [" 在 北京 好"[span.start : span.end] for span in spans(row, tags)] == ["北京"]


def test_a_tag_too_few_is_refused(reader: Read) -> None:
    with pytest.raises(ValueError, match="zip"):
        spans(reader().tagging("爱吃"), [O])


def test_what_was_never_predicted_scores_nought_with_a_flag() -> None:
    gold, other = Span("A", 0, 1), Span("A", 1, 2)
    scores = span_scores([{gold, other}, set()], [{gold}, {other}])
    assert (scores.precision, scores.recall, scores.f1, scores.undefined) == (0.5, 0.5, 0.5, ())
    assert span_scores([{gold}], [set()]).undefined == ("precision",)
    assert span_scores([set()], [set()]) == span_scores([], [])
    assert span_scores([set()], [{gold}]).f1 == 0
