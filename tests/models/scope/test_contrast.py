"""Two questions are compared by their words: other names, and one frame with something else in it."""

import pytest

from models.encoder.weights import find
from models.scope.readings import pack_tokens
from models.scope.wordings.contrast import Contrast

TOKENIZER = find().tokenizer()
TOKENIZER.no_padding()


def compare(first: str, second: str) -> list[bool]:
    pair = tuple(pack_tokens(TOKENIZER.encode(text).ids) for text in (first, second))
    (row,) = Contrast(TOKENIZER)([pair]).tolist()
    return [bool(sign) for sign in row]


@pytest.mark.parametrize(
    ("first", "second", "signs"),
    [
        ("Who is the mayor of Ostervik?", "Who is the mayor of Ostervoll?", [True, True]),
        ("Who is the mayor of Sheffield?", "Who is the mayor of Leeds?", [False, True]),
        ("Who is the mayor of Ostervik?", "Ostervik's mayor, who is it?", [False, False]),
        ("Who is the mayor of Ostervik?", "Is it Brunhildur Askelsdottir who runs the town?", [True, False]),
        ("Who is the mayor of Ostervik?", "Who is the mayor of Ostervik?", [False, False]),
        ("Who is the mayor of Ostervik?", "Who is the mayor of Ostervik now?", [False, False]),
        ("When does it open on Monday?", "When does it open on Tuesday?", [False, True]),
    ],
)
def test_signs_of_a_pair(first: str, second: str, signs: list[bool]) -> None:
    assert compare(first, second) == signs
    assert compare(second, first) == signs, "the order of the texts makes no difference"


def test_no_pairs_have_no_signs() -> None:
    assert Contrast(TOKENIZER)([]).shape == (0, 2)
