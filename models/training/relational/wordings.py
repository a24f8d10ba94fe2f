"""How a path is asked for: a way to ask for its last relation, with noun phrases for the others inside of it."""

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from models.relational.network import FORMS
from models.training.kbert.relations import RelationText
from models.training.phrasings import Phrasings
from models.training.relational.plan import Mixture
from models.training.scope.rewrites import misspell

ENTITIES, COUNT, YES_NO = FORMS
SLOT = "{subject}"
WORD = re.compile(r"(?<!\{)\b[A-Za-z]{4,}\b(?!\})")


@dataclass(frozen=True)
class Frames:
    """Sentences around a noun phrase.

    Attributes:
        count: Ask how many values it stands for.
        yes_no: Ask whether `{object}` is one of them.
    """

    count: tuple[str, ...]
    yes_no: tuple[str, ...]


TRAIN_FRAMES = Frames(
    (
        "How many are there of {noun}?",
        "How many are {noun}?",
        "Count {noun}.",
        "What is the number of {noun}?",
        "{noun}: how many?",
        "In how many cases can one speak of {noun}?",
    ),
    (
        "Is {object} {noun}?",
        "Is it true that {object} is {noun}?",
        "Is {noun} {object}?",
        "{object} is {noun}, right?",
        "Was {noun} {object}?",
        "Am I right that {noun} is {object}?",
    ),
)
TEST_FRAMES = Frames(
    ("How many different answers are there to {noun}?", "Tell me how many there are of {noun}"),
    ("Would you say {object} is {noun}?", "Can you confirm that {noun} is {object}?"),
)


@dataclass(frozen=True)
class Wordings:
    """The words of some writers.

    Attributes:
        phrasings: What they wrote for each relation.
        frames: Sentences for counts and for yes or no.
        mixture: How often people slip.
        use_own: Whether the relation's own templates are words of theirs, too.
    """

    phrasings: Mapping[str, Phrasings]
    frames: Frames
    mixture: Mixture
    use_own: bool

    def draw(self, path: Sequence[RelationText], form: str, rng: random.Random) -> str:
        """Return a question with `{subject}` once, and `{object}` once if it wants yes or no."""
        text = self._noun(path[-1], rng) if form != ENTITIES else rng.choice(self._questions(path[-1]))
        if form == COUNT:
            text = rng.choice(self.frames.count).replace("{noun}", text)
        elif form == YES_NO:
            text = rng.choice(self.frames.yes_no).replace("{noun}", text)
        for relation in reversed(path[:-1]):
            text = text.replace(SLOT, self._noun(relation, rng))
        return self._as_people_write(text[:1].upper() + text[1:], rng)

    def _noun(self, relation: RelationText, rng: random.Random) -> str:
        return rng.choice(self.phrasings[relation.id].nouns)

    def _questions(self, relation: RelationText) -> Sequence[str]:
        templates = relation.phrasings if self.use_own else ()
        return (*self.phrasings[relation.id].questions, *templates)

    def _as_people_write(self, text: str, rng: random.Random) -> str:
        if rng.random() < self.mixture.slip and (words := WORD.findall(text)):
            word = rng.choice(words)
            text = re.sub(rf"(?<!\{{)\b{word}\b(?!\}})", lambda _: misspell(word, rng), text, count=1)
        if rng.random() < self.mixture.bare:
            text = text.lower()
        return text.rstrip("?.") if rng.random() < self.mixture.bare else text
