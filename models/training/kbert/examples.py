"""What the pointer and the pair ranker practise on: questions about entities whose facts were made up for the day.

Objects are swapped, so that the answer can only be read off the tree; relations that are easily confused stand beside
each other; often the fact that is asked for is missing; labels are changed, so that a relation is what its label says;
a second entity with the same relations may stand in the question. Nothing here comes from a held entity, a held
relation or a held phrasing.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from models.graph.knowledge import Entity, Fact, Mention
from models.training.kbert.plan import Mixture
from models.training.kbert.relations import Known
from models.training.kbert.world import World

BESIDE = (  # a second entity in the question: {0} the question, {1} the other name
    "I was just reading about {1}. {0}",
    "{0} I ask because of {1}.",
    "Never mind {1}: {0}",
    "{1} aside, {0}",
    "{0} (not {1})",
)
POLITE = ("Please tell me: {0}", "{0} Thanks!", "Hi, {0}", "Quick question: {0}", "{0} Do you know?")


@dataclass(frozen=True)
class Example:
    """target: the object that answers; None when the facts do not answer. about: the relation that is asked for.

    second: a context or a candidate. fits: of a candidate, whether it is right. honest: rank with the final map, else
    with one that has not seen `about`.
    """

    question: str
    mentions: tuple[Mention, ...]
    about: str
    target: Fact | None
    honest: bool
    second: str | None = None
    span: tuple[int, int] | None = None
    fits: bool | None = None


@dataclass(frozen=True)
class Subject:
    name: str
    type: str
    id: str


class Examples:
    def __init__(self, world: World, mixture: Mixture, seed: int) -> None:
        self._world, self._mix, self._seed = world, mixture, seed
        relations = world.relations.train.values()
        self._of_pack = [one for one in relations if not one.practice]
        self._practice = [one for one in relations if one.practice]
        self._types = [type for type in world.names if len(world.names[type]) > 20]

    def step(self, number: int) -> tuple[list[Example], list[Example], list[Example]]:
        """Singles, contexts and pairs of one step; always the same for the same number."""
        rng = random.Random(f"{self._seed}/{number}")
        mix = self._mix
        return (
            [self.single(rng) for _ in range(mix.singles)],
            [self.context(rng) for _ in range(mix.contexts)],
            [one for _ in range(mix.pairs) for one in self.pairs(rng)],
        )

    def single(self, rng: random.Random) -> Example:
        relation = self._relation(rng)
        subject = self._subject(relation, rng)
        present = rng.random() >= self._mix.absent
        entity, target = self._entity(subject, relation, present, rng.randint(1, self._mix.most_facts), rng)
        question = rng.choice(relation.phrasings)
        if rng.random() < self._mix.second:
            return self._beside(question, relation, subject, entity, target, rng)
        text = self._noisy(question, rng)
        return self._asked(text, subject.name, entity, relation, target, rng)

    def context(self, rng: random.Random) -> Example:
        """The answer stands in the text, or hangs on the question, or is nowhere."""
        relation = self._relation(rng)
        subject = self._subject(relation, rng)
        where = rng.choices(("text", "graph", "nowhere"), (6, 2, 2))[0]
        entity, target = self._entity(subject, relation, where == "graph", rng.randint(1, 4), rng)
        if rng.random() < 0.5 and where != "graph":
            entity = replace(entity, facts=())
        answer = self._world.object(relation, rng)
        told = [self._statement(subject.name, relation, answer, rng)] if where == "text" else []
        told += [(self._other_sentence(subject, relation, rng), -1) for _ in range(rng.randint(1, 4))]
        rng.shuffle(told)
        text, span = _joined(told, len(answer))
        asked = self._asked(
            self._noisy(rng.choice(relation.phrasings), rng), subject.name, entity, relation, target, rng
        )
        return replace(asked, second=text, span=span)

    def pairs(self, rng: random.Random) -> list[Example]:
        """A right candidate and a wrong one, as objects or as sentences, with facts or without."""
        relation = self._relation(rng)
        subject = self._subject(relation, rng)
        entity, target = self._entity(subject, relation, True, rng.randint(1, 5), rng)
        assert target is not None
        sentence = rng.random() < 0.5
        if sentence:
            right = self._statement(subject.name, relation, target.object, rng)[0]
            wrong = self._other_sentence(subject, relation, rng)
        else:
            other = self._relation(rng)
            right = target.object
            wrong = self._world.object(relation if rng.random() < 0.5 else other, rng)
        if rng.random() < 0.5:
            entity = replace(entity, facts=())
        text = rng.choice(relation.phrasings)
        asked = self._asked(self._noisy(text, rng), subject.name, entity, relation, target, rng)
        if not wrong or wrong.casefold() == right.casefold():
            return [replace(asked, second=right, fits=True)]
        return [replace(asked, second=right, fits=True), replace(asked, second=wrong, fits=False)]

    def _relation(self, rng: random.Random) -> Known:
        return rng.choice(self._of_pack if rng.random() < self._mix.pack else self._practice)

    def _subject(self, relation: Known, rng: random.Random) -> Subject:
        known = self._world.asked.get(relation.id, ())
        if known and rng.random() < self._mix.real:
            entity = self._world.entities[rng.choice(known)]
            return Subject(entity.label, entity.type, entity.id)
        type = relation.subject if relation.subject in self._types else rng.choice(self._types)
        return Subject(rng.choice(self._world.names[type]), type, "")

    def _entity(
        self, subject: Subject, relation: Known, present: bool, size: int, rng: random.Random
    ) -> tuple[Entity, Fact | None]:
        """So many facts of the subject, with the one that is asked for or without it."""
        objects = dict(self._world.facts.get(subject.id, {}))
        objects.pop(relation.id, None)
        real = list(objects)[: max(0, size - present)]
        wanted = [relation.id] if present else []
        others = [id for id in self._fillers(subject, relation, size, rng) if id not in real]
        chosen = wanted + (real + others)[: max(1 - present, size - present)]
        facts = [self._fact(id, objects.get(id), rng) for id in chosen]
        rng.shuffle(facts)
        target = next((fact for fact in facts if fact.relation == relation.id), None)
        return Entity(subject.id or "made", subject.name, facts=tuple(facts)), target

    def _fillers(self, subject: Subject, relation: Known, size: int, rng: random.Random) -> list[str]:
        near = [id for id in self._world.near[relation.id][:10] if id != relation.id]
        fitting = [id for id in self._world.fitting(subject.type) if id != relation.id]
        rng.shuffle(near)
        rng.shuffle(fitting)
        mixed = [
            (near if near and (rng.random() < self._mix.confusable or not fitting) else fitting).pop()
            for _ in range(min(2 * size, len(near) + len(fitting)))
        ]
        return list(dict.fromkeys(mixed))

    def _fact(self, id: str, real: str | None, rng: random.Random) -> Fact:
        relation = self._world.relations.train[id]
        keep = real is not None and rng.random() >= self._mix.replaced
        text = real if keep and real is not None else self._world.object(relation, rng)
        label = rng.choice(relation.labels) if rng.random() < self._mix.relabelled else relation.labels[0]
        return Fact(id, label, text)

    def _asked(
        self,
        template: str,
        name: str,
        entity: Entity,
        relation: Known,
        target: Fact | None,
        rng: random.Random,
    ) -> Example:
        at = template.index("{subject}")
        question = template.replace("{subject}", name)
        return Example(
            question, (Mention(at, at + len(name), (entity,)),), relation.id, target, rng.random() < 0.5
        )

    def _beside(
        self,
        question: str,
        relation: Known,
        subject: Subject,
        entity: Entity,
        target: Fact | None,
        rng: random.Random,
    ) -> Example:
        other = self._subject(relation, rng)
        others, _ = self._entity(other, relation, rng.random() < 0.6, rng.randint(1, 4), rng)
        frame = rng.choice(BESIDE).replace("{0}", question)
        pairs = sorted(
            [(frame.index("{subject}"), "{subject}", entity), (frame.index("{1}"), "{1}", others)],
            key=lambda p: p[0],
        )
        text, mentions, at = "", [], 0
        for place, slot, one in pairs:
            text += frame[at:place]
            mentions.append(Mention(len(text), len(text) + len(one.label), (one,)))
            text += one.label
            at = place + len(slot)
        return Example(text + frame[at:], tuple(mentions), relation.id, target, rng.random() < 0.5)

    def _noisy(self, question: str, rng: random.Random) -> str:
        if rng.random() >= self._mix.noise:
            return question
        how = rng.randrange(3)
        if how == 0:
            return question.rstrip("?.")
        if how == 1:
            return question[0].lower() + question[1:] if not question.startswith("{") else question
        return rng.choice(POLITE).replace("{0}", question)

    def _statement(self, name: str, relation: Known, answer: str, rng: random.Random) -> tuple[str, int]:
        """A sentence that says it, and where the answer begins in it."""
        template = rng.choice(relation.statements or PLAIN).replace("{label}", rng.choice(relation.labels))
        text = template.replace("{subject}", name)
        return text.replace("{object}", answer), text.index("{object}")

    def _other_sentence(self, subject: Subject, relation: Known, rng: random.Random) -> str:
        """True of somebody else, or something else about the subject."""
        if rng.random() < 0.5:
            other = self._subject(relation, rng)
            if other.name != subject.name:
                return self._statement(other.name, relation, self._world.object(relation, rng), rng)[0]
        fitting = [id for id in self._world.fitting(subject.type) if id != relation.id]
        one = self._world.relations.train[rng.choice(fitting)]
        return self._statement(subject.name, one, self._world.object(one, rng), rng)[0]


PLAIN = (
    "The {label} of {subject} is {object}.",
    "{subject} ({label}: {object}).",
    "As {label} of {subject} people give {object}.",
)


def _joined(told: Sequence[tuple[str, int]], length: int) -> tuple[str, tuple[int, int] | None]:
    """The sentences as one text, and where the answer stands in it."""
    text, span = "", None
    for sentence, at in told:
        if at >= 0:
            span = (len(text) + at, len(text) + at + length)
        text += sentence + " "
    return text.rstrip(), span
