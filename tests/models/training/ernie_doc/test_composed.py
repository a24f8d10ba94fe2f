"""Composed documents state the answers to their questions, far from the clue, and nothing of another split."""

import random

from models.training.ernie_doc.composed import MIDDLE, SHORT, SUBJECTS, World, compose
from models.training.reading.written.texts import Text, check


def texts(world: World, count: int) -> list[Text]:
    return [
        compose(world, shape, random.Random(number)) for number in range(count) for shape in (SHORT, MIDDLE)
    ]


def test_every_answer_stands_where_its_question_says(world: World) -> None:
    kinds = set()
    for text in texts(world, 40):
        for question in text.questions:
            check(question, text.text, "composed")
            kinds.add(question.kind)
    assert kinds == {"plain", "alias", "steps", "unanswerable"}


def test_a_named_subject_is_not_named_where_its_fact_is(world: World) -> None:
    for text in texts(world, 40):
        aliases = [question for question in text.questions if question.kind == "alias"]
        assert len(aliases) == SUBJECTS
        for question in aliases:
            assert question.start is not None
            assert question.start > 100
            sentence = text.text[: question.start].rpartition(". ")[2]
            subjects = [name for name in world_names(world) if len(name) > 4 and name in question.text]
            assert not any(name in sentence for name in subjects)


def world_names(world: World) -> set[str]:
    return {facts[0].subject.label for facts in world.by_subject.values()}
