"""Wordings of questions for a path: they ask for its last relation, with noun phrases for the others.

An inverse relation ("the country whose capital is Lima") has the writers' noun phrases for a value, turned to its
subject, and some frames.
"""

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from models.relational.network import FORMS
from models.training.kit.plan import Plan
from models.training.relational.compositions import INVERSE, has_entities, is_inverse
from models.training.texts.phrasings import SLOT, Phrasings
from models.training.texts.relations import ANY, RelationText
from models.training.texts.typing import retype

FRAMES = Path(__file__).parent / "frames.toml"
ENTITIES, COUNT, YES_NO = FORMS
POSSESSIVE = SLOT + "'s "
TYPE_WORDS = {
    ANY: "thing",
    "agent": "person or organization",
}  # words for types whose names people do not use


@dataclass(frozen=True)
class Wordings:
    """The words of some writers."""

    phrasings: Mapping[str, Phrasings]  # their phrasings of each relation
    frames: Plan  # sentences of frames.toml
    mixture: Plan  # shares of slips
    use_own: bool  # whether the relation's own templates count as their words, too

    def draw(self, path: Sequence[RelationText], form: str, rng: random.Random) -> str:
        """Return a question with `{subject}` once, and `{object}` once if it wants yes or no."""
        text = rng.choice(self._questions(path[-1])) if form == ENTITIES else self._frame(path[-1], form, rng)
        for relation in reversed(path[:-1]):
            text = text.replace(SLOT, self._noun(relation, rng))
        text = retype(text[:1].upper() + text[1:], self.mixture.slip, self.mixture.bare, rng)
        return text.lower() if rng.random() < self.mixture.bare else text

    def _frame(self, relation: RelationText, form: str, rng: random.Random) -> str:
        """Ask for a number, or for yes or no."""
        frames, by_label = (getattr(self.frames, name) for name in (form, f"{form}_by_label"))
        if not has_entities(relation) or is_inverse(relation.id):
            by_label = ()
        frame, label = rng.choice((*frames, *by_label)), relation.labels[0]
        labels = label if label.endswith("s") else f"{label}s"
        text = frame.replace("{labels}", labels).replace("{label}", label)
        return str(text.replace("{noun}", self._noun(relation, rng)))

    def _noun(self, relation: RelationText, rng: random.Random) -> str:
        return rng.choice(self.phrasings[relation.id].nouns)

    def _questions(self, relation: RelationText) -> Sequence[str]:
        templates = relation.phrasings if self.use_own else ()
        return (*self.phrasings[relation.id].questions, *templates)


def turn_phrasings(
    relations: Iterable[RelationText], phrasings: Mapping[str, Phrasings], frames: Plan
) -> dict[str, Phrasings]:
    """Return phrasings for the subjects of relations, made of the writers' `phrasings`, by inverse relation."""
    return {
        INVERSE + relation.id: _turn(relation, phrasings[relation.id].nouns, frames)
        for relation in relations
        if has_entities(relation) and not is_inverse(relation.id)
    }


def _turn(relation: RelationText, nouns: Iterable[str], frames: Plan) -> Phrasings:
    type = TYPE_WORDS.get(relation.subject, relation.subject)
    whole, questions = (
        [frame.replace("{type}", type).replace("{label}", relation.labels[0]) for frame in part]
        for part in (frames.subject_nouns, frames.subject_questions)
    )
    for noun in dict.fromkeys(nouns):
        whole += _turn_noun(noun, type)
        if noun.startswith(SLOT) or noun.endswith(
            SLOT
        ):  # "The capital of which country is X?", and the other way
            asked_noun = noun.replace(SLOT, f"which {type}")
            questions += [f"{SLOT} is {asked_noun}?", f"{asked_noun} is {SLOT}?"]
    questions += [frame.replace("{noun}", noun) for frame in frames.around_nouns for noun in whole]
    return Phrasings(tuple(questions), tuple(whole))


def _turn_noun(noun: str, type: str) -> Iterator[str]:
    """Yield "the country whose capital is X" for "X's capital", and "the country that X is the capital of"."""
    if noun.startswith(POSSESSIVE):
        yield f"the {type} whose {noun.removeprefix(POSSESSIVE)} is {SLOT}"
    elif noun.endswith(" " + SLOT):
        yield f"the {type} that {SLOT} is {noun.removesuffix(' ' + SLOT)}"
