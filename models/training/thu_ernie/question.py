"""A question for a relation of an entity, as people type it."""

import random
from dataclasses import dataclass

from models.training.kit.plan import Plan
from models.training.texts.phrasings import SLOT
from models.training.texts.typing import retype

FRAMES = ("What is {noun}?", "Tell me {noun}.", "{noun}")  # questions around a noun phrase


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
