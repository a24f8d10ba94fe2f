"""Figures, signs, single letters and foreign words have to agree, in their order; names are left to the judge."""

from collections.abc import Sequence

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
        ("How many trains go from gate 5 to gate 7?", "How many trains go from gate 7 to gate 5?"),
        ("What does section 4.2 say?", "What does section 2.4 say?"),
        ("Who is on duty on 2024-05-01?", "Who is on duty on 2024-01-05?"),
        ("Which screens are 16:9?", "Which screens are 9:16?"),
        ("What should I wear at -12 degrees?", "What should I wear at 12 degrees?"),
        ("For which numbers is x < 5?", "For which numbers is x > 5?"),
        ("What is 6 + 3?", "What is 6 - 3?"),
        ("Is 2.5 a good mark?", "Is 5.2 a good mark?"),
        ("What can I buy for 5 dollars?", "What can I buy for 5 euros?"),
        ("Is 20 °C warm?", "Is 20 °F warm?"),
        ("When does the 9 am bus leave?", "When does the 9 pm bus leave?"),
        ("Who wrote part II of the Sarn Chronicle?", "Who wrote part III of the Sarn Chronicle?"),
        ("What does 😀 mean?", "What does 👍 mean?"),
        ("What is the number Ⅳ?", "What is the number Ⅵ?"),
        ("What does A → B mean?", "What does A ← B mean?"),
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


@pytest.mark.parametrize(
    "spellings",
    [
        ("Towns of 1,000 people", "Towns of 1000 people", "Towns of 1 000 people"),
        ("On 1 May 2024?", "On 2024-05-01?", "On May 1st, 2024?", "On the 1st of May 2024?"),
        ("The 10.30 bus", "The 10:30 am bus", "The 10:30 bus", "The 10h30 bus"),
        ("At 22:15", "At 10:15 pm", "At 10.15 p.m."),
        ("What is 5 % of it?", "What is 5% of it?", "What is 5 percent of it?", "What is 5 per cent of it?"),
        ("At -12 °C", "At minus 12 degrees Celsius", "At −12°C"),
        ("For €20", "For 20 euros", "For 20 €", "For EUR 20"),
        ("When did Louis XIV die?", "when did louis xiv die", "When did Louis the 14th die?"),
        ("Is x <= 5?", "Is x ≤ 5?"),
        ("Who has 5k followers?", "Who has 5,000 followers?", "Who has 5 thousand followers?"),
        ("What is new in v2.4?", "What is new in version 2.4?"),
        ("The 3rd race?", "Race 3?"),
        ("Where is Peru?", "Where is Peru? 😀", "Where + how is Peru?"),
    ],
)
def test_a_value_in_another_usual_writing_is_the_same(spellings: Sequence[str]) -> None:
    assert len(set(digest_literals(spellings).tolist())) == 1


def test_numbers_are_compared_whatever_the_words_around_them() -> None:
    number, other, same, none = digest_literals(
        ["project 7, phase 2", "project 8, phase 2", "of project 7 the phase 2?", "project"]
    )
    assert number == same
    assert len({int(number), int(other), int(none)}) == 3


def test_wordings_are_equal_but_for_case_spaces_and_final_punctuation() -> None:
    first, same, other = digest_wordings(["Who leads  X?", "who leads x", "Who led X?"])
    assert first == same != other
