"""What tells questions apart to the letter: numbers in either writing, single letters, foreign words."""

import pytest

from models.nkb.numbers import numbers


def agree(one: str, other: str) -> bool:
    left, right = numbers([one, other]).tolist()
    return bool(left == right)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Who leads project 7?", "Project 7 is led by whom?"),
        ("Who was the wife of Henry IV?", "henry iv's wife"),
        ("When did World War II end?", "When did World War 2 end?"),
        ("What is the refund period of plan B?", "plan B's refund period?"),
        ("Who wrote The Hobbit, J. R. R. Tolkien?", "Who wrote The Hobbit?"),
        ("Who is the child of Elizabeth I?", "Do I know a child of Elizabeth?"),
        ("Where is Civil Hall?", "Where is the vivid mix?"),
    ],
)
def test_other_words_for_the_same_thing_agree(one: str, other: str) -> None:
    assert agree(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Who leads project 7?", "Who leads project 8?"),
        ("Who was the wife of Henry IV?", "Who was the wife of Henry V?"),
        ("What position does Callixtus II hold?", "What position does Callixtus III hold?"),
        ("What position does Elizabeth I hold?", "What position does Elizabeth II hold?"),
        ("What is the refund period of plan B?", "plan C's refund period?"),
        ("When did Pius IIII live?", "When did Pius II live?"),
        ("Кто написал Гамлета?", "Кто написал Идиота?"),
    ],
)
def test_another_thing_of_nearly_the_same_name_does_not(one: str, other: str) -> None:
    assert not agree(one, other)
