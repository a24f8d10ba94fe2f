"""Wordings of questions for a path: they ask for its last relation, with noun phrases for the others."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from models.relational.network import FORMS
from models.training.kbert.relations import RelationText
from models.training.phrasings import Phrasings, retype
from models.training.relational.compositions import has_entities, is_inverse
from models.training.relational.plan import Mixture

ENTITIES, COUNT, YES_NO = FORMS
SLOT = "{subject}"


@dataclass(frozen=True)
class Frames:
    """Sentences around a noun phrase, or around the label of a relation whose values are entities.

    Attributes:
        count: Ask how many values it stands for.
        yes_no: Ask whether `{object}` is one of them.
        count_by_label: Ask how many values `{subject}` has, by the `{labels}` in the plural.
        yes_no_by_label: Ask whether `{object}` is one of them, by the `{label}` or the `{labels}`.
    """

    count: tuple[str, ...]
    yes_no: tuple[str, ...]
    count_by_label: tuple[str, ...] = ()
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
    """The words of some writers.

    Attributes:
        phrasings: Their phrasings of each relation.
        frames: Sentences for counts and for yes or no.
        mixture: Shares of slips.
        use_own: Whether the relation's own templates count as their words, too.
    """

    phrasings: Mapping[str, Phrasings]
    frames: Frames
    mixture: Mixture
    use_own: bool

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
