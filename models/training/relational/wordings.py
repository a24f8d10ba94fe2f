"""Wordings of questions for a path: they ask for its last relation, with noun phrases for the others."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from models.relational.network import FORMS
from models.training.kit.plan import Plan
from models.training.relational.compositions import has_entities, is_inverse
from models.training.texts.phrasings import Phrasings, retype
from models.training.texts.relations import RelationText

ENTITIES, COUNT, YES_NO = FORMS
SLOT = "{subject}"


@dataclass(frozen=True)
class Frames:
    """Sentences around a noun phrase, or around the label of a relation whose values are entities."""

    count: tuple[str, ...]  # ask how many values it stands for
    yes_no: tuple[str, ...]  # ask whether `{object}` is one of them
    # ask how many values `{subject}` has, by the `{labels}` in the plural
    count_by_label: tuple[str, ...] = ()
    # ask whether `{object}` is one of them, by the `{label}` or the `{labels}`
    yes_no_by_label: tuple[str, ...] = ()


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
    (
        "How many {labels} does {subject} have?",
        "How many {labels} has {subject}?",
        "How many {labels} are there for {subject}?",
        "What number of {labels} does {subject} have?",
    ),
    (
        "Does {subject} have {object} as {label}?",
        "Has {subject} {object} as its {label}?",
        "Is {object} a {label} of {subject}?",
        "Did {subject} have {object} as {label}?",
    ),
)
TEST_FRAMES = Frames(
    ("How many different answers are there to {noun}?", "Tell me how many there are of {noun}"),
    ("Would you say {object} is {noun}?", "Can you confirm that {noun} is {object}?"),
    ("{subject} has how many {labels}?", "How many {labels} can you list for {subject}?"),
    ("Is {object} among the {labels} of {subject}?", "Does {subject} count {object} as its {label}?"),
)


@dataclass(frozen=True)
class Wordings:
    """The words of some writers."""

    phrasings: Mapping[str, Phrasings]  # their phrasings of each relation
    frames: Frames  # sentences for counts and for yes or no
    mixture: Plan  # shares of slips
    use_own: bool  # whether the relation's own templates count as their words, too

    def draw(self, path: Sequence[RelationText], form: str, rng: random.Random) -> str:
        """Return a question with `{subject}` once, and `{object}` once if it wants yes or no."""
        text = rng.choice(self._questions(path[-1])) if form == ENTITIES else self._frame(path[-1], form, rng)
        for relation in reversed(path[:-1]):
            text = text.replace(SLOT, self._noun(relation, rng))
        return self._as_people_write(text[:1].upper() + text[1:], rng)

    def _frame(self, relation: RelationText, form: str, rng: random.Random) -> str:
        """Ask for a number, or for yes or no."""
        frames = self.frames.count if form == COUNT else self.frames.yes_no
        by_label = self.frames.count_by_label if form == COUNT else self.frames.yes_no_by_label
        if not has_entities(relation) or is_inverse(relation.id):
            by_label = ()
        frame, label = rng.choice((*frames, *by_label)), relation.labels[0]
        labels = label if label.endswith("s") else f"{label}s"
        text = frame.replace("{labels}", labels).replace("{label}", label)
        return text.replace("{noun}", self._noun(relation, rng))

    def _noun(self, relation: RelationText, rng: random.Random) -> str:
        return rng.choice(self.phrasings[relation.id].nouns)

    def _questions(self, relation: RelationText) -> Sequence[str]:
        templates = relation.phrasings if self.use_own else ()
        return (*self.phrasings[relation.id].questions, *templates)

    def _as_people_write(self, text: str, rng: random.Random) -> str:
        text = retype(text, self.mixture.slip, self.mixture.bare, rng)
        return text.lower() if rng.random() < self.mixture.bare else text
