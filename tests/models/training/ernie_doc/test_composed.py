"""Composed documents state the answers to their questions, far from the clue, and nothing of another split."""

import random

from models.packs.pack import Pack
from models.training.ernie_doc.composed import MIDDLE, SHORT, SUBJECTS, World, build_world, compose
from models.training.phrasings import read_phrasings, without
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


def test_facts_under_given_names_cannot_be_known(world: World) -> None:
    """Values are exchanged, so that some of them are false."""
    truth = {(fact.subject.label, fact.value) for facts in world.by_subject.values() for fact in facts}
    answers = [
        (name, question.answer)
        for text in texts(world, 30)
        for question in text.questions
        if question.kind == "alias"
        for name in [max((n for n in world_names(world) if n in question.text), key=len)]
    ]
    is_false = [pair not in truth for pair in answers]
    assert sum(is_false) > len(is_false) / 3


def test_splits_share_no_subject_and_no_writer(pack: Pack, world: World) -> None:
    worlds = [world, build_world(pack, "choose"), build_world(pack, "test")]
    subjects = [set(part.by_subject) for part in worlds]
    assert sum(map(len, subjects)) == len(set.union(*subjects))
    for number, part in enumerate(worlds, 1):
        expected = read_phrasings([number])
        assert part.phrasings == (expected if number == 1 else without(expected, worlds[0].phrasings))
    assert not set(worlds[0].fillers) & set(worlds[2].fillers)


def test_the_same_seed_composes_the_same_text(world: World) -> None:
    assert compose(world, SHORT, random.Random(5)) == compose(world, SHORT, random.Random(5))
    assert compose(world, SHORT, random.Random(5)) != compose(world, SHORT, random.Random(6))
