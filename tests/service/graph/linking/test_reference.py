"""find() agrees with the plainest possible reading of its rules, tried at every pair of places in the text."""

from itertools import pairwise
from unicodedata import category

from hypothesis import given, settings
from hypothesis import strategies as st

from service.graph.linking.folding import fold
from service.graph.linking.linker import Linker
from service.graph.linking.words import unlinkable

ALPHABET = "aAbß 1\u0301é.'’中ก가İ\u00a0"
HAN_OR_THAI, HANGUL = "中ก", "가"


def is_mark(char: str) -> bool:
    return category(char).startswith("M")


def base(text: str, before: int) -> str:
    """The character that stands before a place, or that the marks before it stand on."""
    chars = [char for char in text[:before] if not is_mark(char)]
    return chars[-1] if chars else ""


def bounded(text: str, at: int, right: bool) -> bool:
    if at in (0, len(text)):
        return True
    left_of, right_of = base(text, at), text[at]
    if is_mark(right_of):
        return False
    if any(char in HAN_OR_THAI for char in (left_of, right_of) if char):
        return True
    if right and HANGUL in (left_of, right_of):
        return True
    return not (left_of.isalnum() and right_of.isalnum())


def stands(text: str, start: int, end: int, names: set[str]) -> bool:
    part = text[start:end]
    return (
        fold(part) in names
        and not part[0].isspace()
        and not part[-1].isspace()
        and bounded(text, start, right=False)
        and bounded(text, end, right=True)
    )


@settings(max_examples=600)
@given(
    st.lists(st.text(ALPHABET, min_size=1, max_size=4), max_size=8),
    st.text(ALPHABET, max_size=14),
)
def test_every_name_that_stands_in_a_text_is_found(names: list[str], text: str) -> None:
    names = [name for name in names if not unlinkable(name)]
    linker = Linker()
    linker.add((name, "Q") for name in names)
    folded = {fold(name) for name in names}
    found = linker.find(text)
    expected = {
        (start, end)
        for start in range(len(text))
        for end in range(start + 1, len(text) + 1)
        if stands(text, start, end, folded)
    }
    assert {(span.start, span.end) for span in (*found.spans, *found.overlapped)} == expected


@given(
    st.lists(st.text("ab ", min_size=2, max_size=6).filter(str.strip), max_size=8),
    st.text("ab ", max_size=20),
)
def test_spans_are_apart_and_each_lost_one_meets_one_that_is_no_shorter(names: list[str], text: str) -> None:
    linker = Linker()
    linker.add((name, "Q") for name in names)
    spans, overlapped = linker.find(text)
    assert all(one.end <= other.start for one, other in pairwise(spans))
    for lost in overlapped:
        rivals = [span for span in spans if span.start < lost.end and lost.start < span.end]
        lengths = [len(fold(text[span.start : span.end])) for span in rivals]
        assert max(lengths) >= len(fold(text[lost.start : lost.end]))
