"""The training text asks for each fact in each epoch, and never in words that a test asks in."""

import pytest

from models.packs.pack import Pack
from models.training.backpack.plan import DEFAULT
from models.training.backpack.texts import SPLITS, Split, Texts

HELD_OUT: tuple[Split, ...] = ("choosing", "test")


def test_each_epoch_speaks_of_each_fact_in_words_drawn_anew(texts: Texts) -> None:
    first, second = texts.documents(0), texts.documents(1)
    assert len(first) == len(second) == len(texts.items)
    assert first == texts.documents(0) != second
    for item, document in zip(texts.items, first, strict=True):
        assert item.answer in document
        assert document.endswith("\n")


def test_a_document_speaks_of_one_subject_and_has_no_fact_twice(texts: Texts) -> None:
    names = {item.subject.label for item in texts.items}
    for document in texts.documents(2):
        lines = [line for line in document.split("\n") if line and not line.startswith("A:")]
        assert len(lines) <= 3
        assert len({name for name in names if any(name in line for line in lines)}) >= 1
        assert len(set(lines)) == len(lines)


@pytest.mark.parametrize("split", ["held", "choosing", "test"])
def test_held_phrasings_are_never_trained_on(texts: Texts, split: Split) -> None:
    trained = "".join(document for epoch in range(30) for document in texts.documents(epoch))
    questions = texts.questions(split, 100)
    assert questions
    assert not [question for question in questions if f"Q: {question.text}\n" in trained]


def test_no_writer_is_tested_with_words_that_another_one_trained() -> None:
    texts = Texts(Pack.load(), DEFAULT.texts, seed=0)
    ways = {
        split: {
            (item.relation.id, way)
            for place, item in enumerate(texts.items)
            for way in texts.ways(place, split)
        }
        for split in ("trained", "held", "choosing", "test")
    }
    assert ways["trained"]
    for split in ("held", "choosing", "test"):
        assert len({relation for relation, _ in ways[split]}) == 49
        assert not ways["trained"] & ways[split]


def test_every_tenth_fact_is_asked_in_half_of_the_phrasings_alone(texts: Texts) -> None:
    trained = "".join(document for epoch in range(60) for document in texts.documents(epoch))
    questions = texts.questions("other", 100)
    assert len(questions) == len(texts.items[::10])
    assert not [question for question in questions if f"Q: {question.text}\n" in trained]


@pytest.mark.parametrize("split", SPLITS)
def test_the_questions_of_a_test_are_always_the_same(texts: Texts, split: Split) -> None:
    assert texts.questions(split, 5) == texts.questions(split, 5)


def test_choosing_and_test_share_no_relation() -> None:
    texts = Texts(Pack.load(), DEFAULT.texts, seed=0)
    relation_of = {
        way.replace("{subject}", item.subject.label): item.relation.id
        for place, item in enumerate(texts.items)
        for way in texts.ways(place, "test")
    }
    choosing, test = (
        {relation_of[question.text] for question in texts.questions(split, 400)} for split in HELD_OUT
    )
    assert len(choosing) > 20 < len(test)
    assert not choosing & test


def test_a_correction_is_asked_in_words_that_its_edit_is_not_given(texts: Texts) -> None:
    for correction in texts.corrections(20):
        assert len({*correction.wordings, *correction.new_wordings}) == 4


def test_strangers_have_no_answer(texts: Texts) -> None:
    strangers = texts.strangers("tune", 10)
    assert len(strangers) == 10
    assert {question.answer for question in strangers} == {""}
