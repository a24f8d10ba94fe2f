"""Questions that gates learn from: about facts that the base learned, and about names that the pack does not hold.

A name is asked for the relation that it really has, for another of its kind, and for two that no name was drawn for.
The answers do not matter, only which questions ask for the same. Some questions stand in a frame, as people write.
"""

import random
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from models.packs.pack import Item, Relation
from models.training.packs.names import Name

PLAIN = "{question}"
AS_PEOPLE_WRITE = (
    "Please: {question}",
    "Hi! {question}",
    "Quick question: {question}",
    "Do you know this: {question}",
    "Hello, {question}",
    "So, {question}",
    "{question} Thanks!",
    "{question} Answer briefly.",
)
FRAMED_SHARE = 0.12  # share of the questions that stand in a frame


@dataclass(frozen=True)
class TrainingQuestion:
    """One question with the subject and the relation that it asks for."""

    text: str
    subject: str
    relation: str


def write_questions(
    relations: Mapping[str, Relation],
    items: Sequence[Item],
    names: Sequence[Name],
    phrasings: int,
    seed: int,
) -> list[TrainingQuestion]:
    """Write `phrasings` trained phrasings of each subject and relation, which stand together."""
    rng = random.Random(seed)
    base_facts = ((item.subject.label, item.relation.id) for item in items)
    facts = sorted({*base_facts, *_facts(relations, names, rng)})
    return [
        TrainingQuestion(_text(template, subject, rng), subject, relation)
        for subject, relation in facts
        for template in rng.sample(relations[relation].phrasings, phrasings)
    ]


def _facts(
    relations: Mapping[str, Relation], names: Sequence[Name], rng: random.Random
) -> Iterator[tuple[str, str]]:
    """Yield subject and relation, three or four for each name."""
    drawn_relations = {name.relation_id for name in names}
    kinds: dict[str, list[str]] = defaultdict(list)
    rest: dict[str, list[str]] = defaultdict(list)
    for relation in relations.values():
        kinds[relation.subject_type].append(relation.id)
        if relation.id not in drawn_relations:
            rest[relation.subject_type].append(relation.id)
    for name in names:
        yield name.name, name.relation_id
        yield name.name, rng.choice(kinds[relations[name.relation_id].subject_type])
        if rest:
            other_relations = rest[rng.choice(sorted(rest))]
            yield from (
                (name.name, other) for other in rng.sample(other_relations, min(2, len(other_relations)))
            )


def _text(template: str, subject: str, rng: random.Random) -> str:
    question = template.replace("{subject}", subject)
    frame = rng.choice(AS_PEOPLE_WRITE) if rng.random() < FRAMED_SHARE else PLAIN
    return frame.replace("{question}", question)
