"""Names that two texts share have the same mark in both."""

import pytest

from models.scope.wordings.mentions import mark_mentions
from models.scope.wordings.names import Word, Words


def read(text: str) -> Words:
    """Read words, of which those with a capital are names and those with a hyphen have two pieces."""
    words: list[Word] = [tuple(map(hash, word.lower().split("-"))) for word in text.split()]
    return Words(words, [float(word[0].isupper()) for word in text.split()])


@pytest.mark.parametrize(
    ("first", "second", "marks"),
    [
        ("who did Rome defeat", "Rome defeat who", "000100 01000"),
        ("did Rome defeat Carthage", "did Carthage defeat Rome", "001020 002010"),
        ("is Anna Berg older than Anna Lind", "is Anna Lind older", "001000110 001100"),
        ("New York and Ohio", "Ohio or New York", "011020 020110"),
        ("New York", "York and New Ohio", "0120 020100"),
        ("who runs Ac-me", "Ac-me runs who", "000110 011000"),
        ("A1 B1 C1 D1 E1 or", "E1 or D1 or C1 or B1 or A1", "01234000 00040302010"),
        ("who", "what", "000 000"),
    ],
)
def test_shared_names_have_one_mark(first: str, second: str, marks: str) -> None:
    numbers = mark_mentions(read(first), read(second))
    assert "".join(map(str, numbers)) == marks.replace(" ", "")


def test_a_name_counts_that_one_text_alone_shows_as_such() -> None:
    assert mark_mentions(read("who runs acme"), read("who runs Acme")) == bytes([0, 0, 0, 1, 0] * 2)
