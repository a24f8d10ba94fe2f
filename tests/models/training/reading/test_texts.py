"""Documents are held out whole, and their answers stand where the questions say."""

import random

import pytest

from models.training.reading.written.texts import (
    Question,
    check,
    excerpt,
    is_whole,
    read_texts,
)

SPLITS = ("train", "choose", "test")


def test_every_answer_is_a_whole_part_of_its_text() -> None:
    for text in (text for split in SPLITS for text in read_texts(split)):
        for question in text.questions:
            check(question, text.text, text.title)
            assert is_whole(question, text.text)


def test_an_excerpt_is_a_part_of_its_document_with_the_questions_that_it_answers() -> None:
    text = read_texts("train")[0]
    excerpts = [excerpt(text, 1200, random.Random(number)) for number in range(20)]
    assert len({part.text for part in excerpts}) > 2
    for part in excerpts:
        assert part.text in text.text
        assert 1200 <= len(part.text) < len(text.text)
        for question in part.questions:
            check(question, part.text, part.title)
        unanswerable = [question for question in text.questions if question.answer is None]
        assert [question for question in part.questions if question.answer is None] == unanswerable
    texts = {question.text for part in excerpts for question in part.questions}
    assert texts == {question.text for question in text.questions}


def test_an_answer_at_another_place_is_refused() -> None:
    with pytest.raises(ValueError, match="a: 'ice' does not stand at 1 of the text"):
        check(Question("what?", "ice", 1, "plain"), "the ice", "a")
