"""A name and a text fold alike, and a folded text knows where each of its characters came from."""

import re
import sys
from unicodedata import category, normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.graph.linking.words import JOINS, fold, fold_text

ODD = "aAßẞİıſςΣé\u0301e\u0327ŉﬁᾳǰ \u00a0\t\n\u3000’'ʼ\u00ad\u200e\0각\u1100\u1161\u11a8一한.\u0345"


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("Perú", "PERU\u0301"),
        ("Straße", "STRASSE"),
        ("ΟΔΟΣ", "οδος"),
        ("New\u00a0 York", " new york "),
        ("Côte d’Ivoire", "cote\u0302 d'ivoire".replace("cote\u0302", "co\u0302te")),
        ("서울", normalize("NFD", "서울")),
        ("İzmir", "I\u0307ZMIR"),
        ("soft\u00adware", "software"),
        ("İZMİR", "izmir"),
        ("❤\ufe0f", "❤"),
    ],
)
def test_spellings_of_one_name_fold_to_the_same(name: str, other: str) -> None:
    assert fold(name) == fold(other)


@pytest.mark.parametrize("pair", [("Peru", "Perú"), ("New York", "NewYork"), ("C", "C+"), ("ılık", "ilik")])
def test_different_names_stay_different(pair: tuple[str, str]) -> None:
    assert fold(pair[0]) != fold(pair[1])


def test_where_nothing_changes_length_there_is_no_map() -> None:
    assert fold_text("What is PERÚ’s capital?").starts == ()
    assert fold_text("ß").starts == [0, 0]


@given(st.one_of(st.text(alphabet=ODD), st.text()))
def test_a_text_folds_as_a_name_does(text: str) -> None:
    assert fold_text(text).text.strip(" ") == fold(text)


@given(st.text(alphabet=ODD))
def test_folding_twice_changes_nothing_more(text: str) -> None:
    assert fold(fold(text)) == fold(text)


@given(st.text(alphabet=ODD))
def test_each_folded_character_comes_from_where_the_map_says(text: str) -> None:
    folding = fold_text(text)
    for i, char in enumerate(folding.text):
        start, end = folding.original(i, i + 1)
        assert char == " " or char in fold(text[start:end])


def test_every_character_folds_by_itself() -> None:
    """The map of places holds only if no character changes with the one before it, except those that join it."""
    joins, all_characters = re.compile(f"[{JOINS}]"), [*map(chr, range(0x80, sys.maxunicode + 1))]
    without_meaning = "a".join(char for char in all_characters if category(char) == "Cn")
    assert fold(without_meaning) == without_meaning
    for char in (char for char in all_characters if category(char) != "Cn"):
        assert joins.match(char) or fold("a" + char + "b") in (f"a{fold(char)}b", "a b")
