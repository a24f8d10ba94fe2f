"""Relations that are walked from object to subject, such as "the country whose capital is Lima".

An inverse relation is a separate relation with the types exchanged, so compositions, graphs and losses treat it like
any other. Its words are those of the writers, whose noun phrase for a value is turned to its subject, and some
frames.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from models.relational.subgraph import inverse_label
from models.training.relational.compositions import INVERSE, has_entities, is_inverse
from models.training.texts.phrasings import Phrasings
from models.training.texts.relations import ANY, RelationText

SLOT = "{subject}"
POSSESSIVE = SLOT + "'s "
TYPE_WORDS = {
    ANY: "thing",
    "agent": "person or organization",
}  # words for types whose names people do not use


@dataclass(frozen=True)
class InverseFrames:
    """Sentences about a subject; {type} is its kind, {label} the relation, and {subject} the name of the value."""

    nouns: tuple[str, ...]  # noun phrases for the subject
    questions: tuple[str, ...]  # questions for it
    around_nouns: tuple[str, ...]  # questions around a noun phrase for it


TRAIN_INVERSES = InverseFrames(
    (
        "the {type} whose {label} is {subject}",
        "the {type} with {subject} as its {label}",
        "the {type} that has {subject} as {label}",
    ),
    (
        "Which {type} has {subject} as its {label}?",
        "{subject} is the {label} of which {type}?",
        "Of which {type} is {subject} the {label}?",
    ),
    ("What is {noun}?", "Name {noun}.", "Which is {noun}?", "Tell me {noun}."),
)
TEST_INVERSES = InverseFrames(
    ("the {type} of which {subject} is the {label}", "the {type} for which the {label} is {subject}"),
    ("For which {type} is {subject} the {label}?", "What {type} is there whose {label} is {subject}?"),
    ("Do you know {noun}?", "I am looking for {noun}."),
)


def invert(relation: RelationText) -> RelationText:
    """Return the relation that leads from the objects of a relation to its subjects."""
    labels = tuple(inverse_label(label) for label in relation.labels)
    return RelationText(
        INVERSE + relation.id, labels, relation.object, relation.subject, (), is_practice=relation.is_practice
    )


def with_inverses(relations: Mapping[str, RelationText]) -> dict[str, RelationText]:
    """Return relations and the inverse ones of those whose objects are entities."""
    inverses = (invert(relation) for relation in relations.values() if has_entities(relation))
    return {**relations, **{inverse.id: inverse for inverse in inverses}}


def inverse_phrasings(
    relations: Iterable[RelationText], phrasings: Mapping[str, Phrasings], frames: InverseFrames
) -> dict[str, Phrasings]:
    """Return phrasings for the subjects of relations, made of the writers' `phrasings`, by inverse relation."""
    return {
        INVERSE + relation.id: _turn(relation, phrasings[relation.id].nouns, frames)
        for relation in relations
        if has_entities(relation) and not is_inverse(relation.id)
    }


def _turn(relation: RelationText, nouns: Iterable[str], frames: InverseFrames) -> Phrasings:
    type = TYPE_WORDS.get(relation.subject, relation.subject)
    whole = [frame.replace("{type}", type).replace("{label}", relation.labels[0]) for frame in frames.nouns]
    questions = [
        frame.replace("{type}", type).replace("{label}", relation.labels[0]) for frame in frames.questions
    ]
    for noun in dict.fromkeys(nouns):
        whole += _turn_noun(noun, type)
        questions += _ask_by_noun(noun, type)
    questions += [frame.replace("{noun}", noun) for frame in frames.around_nouns for noun in whole]
    return Phrasings(tuple(questions), tuple(whole))


def _turn_noun(noun: str, type: str) -> Iterator[str]:
    """Yield "the country whose capital is X" for "X's capital", and "the country that X is the capital of"."""
    if noun.startswith(POSSESSIVE):
        yield f"the {type} whose {noun.removeprefix(POSSESSIVE)} is {SLOT}"
    elif noun.endswith(" " + SLOT):
        yield f"the {type} that {SLOT} is {noun.removesuffix(' ' + SLOT)}"


def _ask_by_noun(noun: str, type: str) -> Iterator[str]:
    """Yield "The capital of which country is X?" and the same the other way round."""
    if noun.startswith(SLOT) or noun.endswith(SLOT):
        asked_noun = noun.replace(SLOT, f"which {type}")
        yield f"{SLOT} is {asked_noun}?"
        yield f"{asked_noun} is {SLOT}?"
