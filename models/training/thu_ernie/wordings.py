"""Wordings of the questions for a relation: the words of some writers, as people type them."""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

from models.packs.pack import Pack
from models.training.kit.plan import Plan
from models.training.reading.written.texts import Split, split_of
from models.training.texts.phrasings import read_phrasings, retype

SLOT = "{subject}"
TRAIN_HANDS, TEST_HANDS = (1, 2), (3,)  # writers whose words training reads, and whom only the exam does
SPLITS: tuple[Split, ...] = get_args(Split)
FRAMES = (  # frames around a noun phrase
    "What is {noun}?",
    "Tell me {noun}.",
    "{noun}",
    "Can you name {noun}?",
    "I am looking for {noun}",
    "Which is {noun}?",
)


@dataclass(frozen=True)
class Wordings:
    """Ways to ask; each has `{subject}` once."""

    train: Mapping[str, Sequence[str]]  # wordings of the training: two writers', and the pack's phrasings
    choose: Mapping[str, Sequence[str]]  # the pack's held-out phrasings, on which the confidence is fitted
    test: Mapping[str, Sequence[str]]  # the third writer's wordings
    # Ways to ask for relations that no fact of the pack has, by their relation; the splits have no relation
    # in common
    strange: Mapping[Split, Sequence[str]]

    @staticmethod
    def of(pack: Pack) -> "Wordings":
        """Read the phrasings of a pack's relations."""
        trained, other = read_phrasings(TRAIN_HANDS), read_phrasings(TEST_HANDS)
        train: dict[str, Sequence[str]] = {}
        for id, relation in pack.relations.items():
            nouns = trained[id].nouns if id in trained else ()
            as_questions = [frame.replace("{noun}", noun) for noun in nouns for frame in FRAMES[:3]]
            questions = trained[id].questions if id in trained else ()
            train[id] = (*questions, *relation.phrasings, *as_questions)
        choose = {id: relation.held_out for id, relation in pack.relations.items()}
        test = {id: other[id].questions for id in pack.relations if id in other}
        train = _without(_without(train, choose), test)
        strange = {split: tuple(_strange(pack, split)) for split in SPLITS}
        return Wordings(train, _without(choose, test), test, strange)


def _strange(pack: Pack, split: Split) -> Iterator[str]:
    """Yield ways to ask for relations for practice; those of the test are in the words of the third writer."""
    hands = TEST_HANDS if split == "test" else TRAIN_HANDS
    for id, phrasings in read_phrasings(hands).items():
        if id not in pack.relations and split_of(id) == split:
            yield from phrasings.questions


def _without(
    texts: Mapping[str, Sequence[str]], exclusions: Mapping[str, Sequence[str]]
) -> dict[str, Sequence[str]]:
    """Return ways to ask, without those that another writer has, too."""
    keys = {id: {text.casefold() for text in exclusions.get(id, ())} for id in texts}
    return {id: tuple(text for text in part if text.casefold() not in keys[id]) for id, part in texts.items()}


@dataclass(frozen=True)
class Question:
    """A text that names an entity."""

    text: str  # the text
    begin: int  # first character of the name
    end: int  # character behind it


def ask(template: str, name: str) -> Question:
    """Put a name into a template."""
    begin = template.index(SLOT)
    return Question(template.replace(SLOT, name), begin, begin + len(name))


def ask_as_people_write(template: str, name: str, mixture: Plan, rng: random.Random) -> Question:
    """Put a name into a template that is typed with slips; the name has none, for otherwise nothing is linked."""
    question = ask(retype(template, mixture.slip, mixture.bare, rng), name)
    lower = question.text.lower()
    if rng.random() < mixture.bare and len(lower) == len(question.text):
        return Question(lower, question.begin, question.end)
    return question
