"""A corrected answer is asked for again with all questions of its text, and whole hands are examined."""

import random
from collections.abc import Sequence

from models.reading.confidence import NO_SCALE
from models.reading.spans import Span
from models.training.reading.exam import correct, exam_texts, measure_corrections
from models.training.reading.outcomes import Outcome
from models.training.reading.written.texts import Question, Text

PARAGRAPH = "In Corran the pump of Anna Keller was built in 1871. A boat came on Monday."
QUESTIONS = tuple(
    Question(question, answer, PARAGRAPH.index(answer), "plain")
    for question, answer in (
        ("When was it built?", "1871"),
        ("Whose is it?", "Anna Keller"),
        ("What came?", "A boat"),
    )
)
TEXT = Text("a", PARAGRAPH, QUESTIONS)


def answer_rightly(text: Text) -> Sequence[Outcome]:
    return [
        Outcome(q, [Span(9.0, 0.0, q.start or 0, 0, text.text[q.start :][: len(q.answer or "")], 0)], 1)
        for q in text.questions
    ]


def answer_as_before(text: Text) -> Sequence[Outcome]:
    pairs = zip(text.questions, QUESTIONS, strict=True)
    return [Outcome(question, [Span(9.0, 0.0, 0, 0, old.answer or "", 0)], 1) for question, old in pairs]


def test_a_correction_moves_the_answers_behind_it() -> None:
    text = correct(TEXT, QUESTIONS[1], ["Bo"], random.Random(0))
    assert text is not None
    assert [question.answer for question in text.questions] == ["1871", "Bo Bo", "A boat"]
    for question in text.questions:
        assert question.start is not None
        assert text.text[question.start :].startswith(question.answer or "-")
    assert correct(TEXT, QUESTIONS[2], ["Bo"], random.Random(0)) is None  # it has neither a name nor a number


def test_what_follows_and_what_stays_is_counted() -> None:
    result = measure_corrections(answer_rightly, [TEXT], NO_SCALE)
    assert result == (100.0, 2, 100.0, 4)
    assert measure_corrections(answer_as_before, [TEXT], NO_SCALE)[:2] == (0.0, 2)


def test_the_exam_has_texts_of_every_hand() -> None:
    assert all(exam_texts("test").values())
    assert not exam_texts("train")["passages c"]
    assert not exam_texts("choose")["passages c"]
    assert exam_texts("test").keys() == {"documents", *(f"passages {hand}" for hand in "bcdef")}
