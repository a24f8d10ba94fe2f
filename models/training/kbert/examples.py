"""Examples for the pointer and the pair ranker: questions about entities whose facts are made up.

Objects are swapped, so that the answer can only be read off the tree; relations that are easily confused stand beside
each other; often the fact of the right answer is missing; labels are changed, so that only the label identifies the
relation; a second entity with the same relations may stand in the question. No held entity, held relation or held
phrasing occurs.
"""

import random
from dataclasses import dataclass, replace

from models.graph.knowledge import Entity, Fact, Mention
from models.packs.pack import Entity as Subject
from models.system import Ask
from models.training.kbert.texts import World
from models.training.kit.plan import Plan
from models.training.texts.phrasings import SLOT, fill
from models.training.texts.relations import RelationText
from models.training.texts.typing import retype

BESIDE = (  # frames with a second entity: {0} is the question, {1} the other name
    "I was just reading about {1}. {0}",
    "{0} I ask because of {1}.",
    "Never mind {1}: {0}",
    "{1} aside, {0}",
    "{0} (not {1})",
)
POLITE = ("Please tell me: {0}", "{0} Thanks!", "Hi, {0}", "Quick question: {0}", "{0} Do you know?")
PLAIN = (
    "The {label} of {subject} is {object}.",
    "{subject} ({label}: {object}).",
    "As {label} of {subject} people give {object}.",
)


@dataclass(frozen=True)
class Example:
    """One example."""

    question: str
    mentions: tuple[Mention, ...]
    about: str  # relation that is asked for
    target: Fact | None  # fact that answers; None if no fact does
    is_honest: bool  # whether the final map ranks, or a map that has not seen `about`
    second: str | None = None  # a candidate
    is_right: bool | None = None  # whether the candidate is right


class Examples:
    def __init__(self, world: World, mixture: Plan, seed: int) -> None:
        self._world, self._mix, self._seed = world, mixture, seed
        relations = world.relations.train.values()
        self._of_pack = [relation for relation in relations if not relation.is_practice]
        self._practice = [relation for relation in relations if relation.is_practice]
        self._types = [type for type in world.names if len(world.names[type]) > 20]

    def step(self, number: int) -> tuple[list[Example], list[Example]]:
        """Return singles and pairs of one step, always the same for the same number."""
        rng = random.Random(f"{self._seed}/{number}")
        mix = self._mix
        return (
            [self.single(rng) for _ in range(mix.singles)],
            [pair for _ in range(mix.pairs) for pair in self.pairs(rng)],
        )

    def single(self, rng: random.Random) -> Example:
        relation = self._relation(rng)
        subject = self._subject(relation, rng)
        present = rng.random() >= self._mix.absent
        entity, target = self._entity(subject, relation, present, rng.randint(1, self._mix.most_facts), rng)
        question = rng.choice(relation.phrasings)
        if rng.random() < self._mix.second:
            ask = self._beside(question, relation, entity, rng)
        else:
            ask = fill(self._add_noise(question, rng), {SLOT: entity})
        return self._build(ask, relation, target, rng)

    def pairs(self, rng: random.Random) -> list[Example]:
        """Make a right candidate and a wrong one, as objects or as sentences, with facts or without."""
        relation = self._relation(rng)
        subject = self._subject(relation, rng)
        entity, target = self._entity(subject, relation, True, rng.randint(1, 5), rng)
        assert target is not None
        sentence = rng.random() < 0.5
        if sentence:
            right = self._statement(subject.label, relation, target.object, rng)
            wrong = self._other_sentence(subject, relation, rng)
        else:
            other = self._relation(rng)
            right = target.object
            wrong = self._world.draw_object(relation if rng.random() < 0.5 else other, rng)
        if rng.random() < 0.5:
            entity = replace(entity, facts=())
        text = self._add_noise(rng.choice(relation.phrasings), rng)
        example = self._build(fill(text, {SLOT: entity}), relation, target, rng)
        right_example = replace(example, second=right, is_right=True)
        if not wrong or wrong.casefold() == right.casefold():
            return [right_example]
        return [right_example, replace(example, second=wrong, is_right=False)]

    def _relation(self, rng: random.Random) -> RelationText:
        return rng.choice(self._of_pack if rng.random() < self._mix.pack else self._practice)

    def _subject(self, relation: RelationText, rng: random.Random) -> Subject:
        subjects = self._world.subjects.get(relation.id, ())
        if subjects and rng.random() < self._mix.real:
            return self._world.entities[rng.choice(subjects)]
        type = relation.subject if relation.subject in self._types else rng.choice(self._types)
        return Subject("", rng.choice(self._world.names[type]), type, ())

    def _entity(
        self, subject: Subject, relation: RelationText, present: bool, size: int, rng: random.Random
    ) -> tuple[Entity, Fact | None]:
        """Make an entity with `size` facts of the subject, with or without the fact that answers."""
        objects = dict(self._world.facts.get(subject.id, {}))
        objects.pop(relation.id, None)
        real = list(objects)[: max(0, size - present)]
        fillers = [id for id in self._fillers(subject, relation, size, rng) if id not in real]
        ids = (real + fillers)[: max(1 - present, size - present)]
        ids = [relation.id, *ids] if present else ids
        facts = [self._fact(id, objects.get(id), rng) for id in ids]
        rng.shuffle(facts)
        target = next((fact for fact in facts if fact.relation == relation.id), None)
        return Entity(subject.id or "made", subject.label, facts=tuple(facts)), target

    def _fillers(self, subject: Subject, relation: RelationText, size: int, rng: random.Random) -> list[str]:
        near = [id for id in self._world.near[relation.id][:10] if id != relation.id]
        fitting = [id for id in self._world.fitting(subject.type) if id != relation.id]
        rng.shuffle(near)
        rng.shuffle(fitting)
        fillers = [
            (near if near and (rng.random() < self._mix.confusable or not fitting) else fitting).pop()
            for _ in range(min(2 * size, len(near) + len(fitting)))
        ]
        return list(dict.fromkeys(fillers))

    def _fact(self, id: str, real: str | None, rng: random.Random) -> Fact:
        relation = self._world.relations.train[id]
        keep = real is not None and rng.random() >= self._mix.p_replaced
        text = real if keep and real is not None else self._world.draw_object(relation, rng)
        label = rng.choice(relation.labels) if rng.random() < self._mix.p_relabelled else relation.labels[0]
        return Fact(id, label, text)

    def _build(self, ask: Ask, relation: RelationText, target: Fact | None, rng: random.Random) -> Example:
        return Example(ask.question, ask.mentions, relation.id, target, rng.random() < 0.5)

    def _beside(self, question: str, relation: RelationText, entity: Entity, rng: random.Random) -> Ask:
        """Put a second entity with such a fact, or without it, beside a question."""
        other, _ = self._entity(
            self._subject(relation, rng), relation, rng.random() < 0.6, rng.randint(1, 4), rng
        )
        frame = rng.choice(BESIDE).replace("{0}", question)
        return fill(frame, {SLOT: entity, "{1}": other})

    def _add_noise(self, question: str, rng: random.Random) -> str:
        """Return the question as it may be typed; the encoder reads no capitals, so case is left as it is."""
        text = retype(question, self._mix.slip, self._mix.bare, rng)
        return rng.choice(POLITE).replace("{0}", text) if rng.random() < self._mix.noise else text

    def _statement(self, name: str, relation: RelationText, answer: str, rng: random.Random) -> str:
        """Write a sentence that says the fact."""
        template = rng.choice(relation.statements or PLAIN).replace("{label}", rng.choice(relation.labels))
        return template.replace("{subject}", name).replace("{object}", answer)

    def _other_sentence(self, subject: Subject, relation: RelationText, rng: random.Random) -> str:
        """Write a sentence about another subject, or another fact about the subject."""
        if rng.random() < 0.5:
            other = self._subject(relation, rng)
            if other.label != subject.label:
                return self._statement(other.label, relation, self._world.draw_object(relation, rng), rng)
        fitting = [id for id in self._world.fitting(subject.type) if id != relation.id]
        other_relation = self._world.relations.train[rng.choice(fitting)]
        answer = self._world.draw_object(other_relation, rng)
        return self._statement(subject.label, other_relation, answer, rng)
