"""Numbers, single letters and foreign words have to agree exactly; names are left to the judge."""

import pytest

from models.scope.literals import digest_literals, digest_wordings


@pytest.mark.parametrize(
    ("question", "other"),
    [
        ("What is the refund period for plan A?", "What is the refund period for plan B?"),
        ("What does vitamin C do?", "What does vitamin D do?"),
        ("中国的首都是什么？", "什么是法国的首都？"),
        ("한국의 수도는 어디입니까?", "일본의 수도는 어디입니까?"),
        ("Какая столица России?", "Какая столица Франции?"),
        ("ما هي عاصمة مصر؟", "ما هي عاصمة فرنسا؟"),
        ("Which project is 7?", "Which project is ７1?"),
        ("How fast is the A8?", "How fast is the A8X?"),
        ("How much does the TX-350 weigh?", "How much does the TX-350S weigh?"),
    ],
)
def test_what_a_language_model_confuses_is_told_apart_to_the_letter(question: str, other: str) -> None:
    first, second, again = digest_literals([question, other, question.upper().replace("?", " ?")])
    assert first != second
    assert first == again


@pytest.mark.parametrize(
    ("question", "other"),
    [
        ("Who wrote Emma as J. K. Rowling?", "Who wrote Emma as JK Rowling?"),
        ("What is the U.S. currency?", "What's the currency of the US?"),
        ("I want Peru's capital", "What is a capital of Peru"),
        ("Côte d'Ivoire's capital?", "capital of Côte d’Ivoire"),
    ],
)
def test_what_may_be_written_in_other_ways_is_not(question: str, other: str) -> None:
    first, second = digest_literals([question, other])
    assert first == second == 0


def test_numbers_are_compared_whatever_the_words_around_them() -> None:
    number, other, same, none = digest_literals(
        ["project 7, phase 2", "project 8, phase 2", "phase 2 of project 7?", "project"]
    )
    assert number == same
    assert len({int(number), int(other), int(none)}) == 3


def test_a_number_is_the_same_with_what_says_nothing_else() -> None:
    plain, ordinal, time = digest_literals(["Who won race 3?", "Who won the 3rd race?", "The race at 3pm?"])
    assert plain == ordinal == time


def test_wordings_are_equal_but_for_case_spaces_and_final_punctuation() -> None:
    first, same, other = digest_wordings(["Who leads  X?", "who leads x", "Who led X?"])
    assert first == same != other
