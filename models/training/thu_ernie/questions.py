"""Entities to ask about: entities of the pack, entities with an edited row, and made-up ones with random facts.

The name of an entity teaches nothing: its row has to hold the answer. So rows are also solved for facts that no edit
stated, and a made-up entity is the mean of o - r over its facts, as a new entity's row is.
"""

import random
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

import torch
from jaxtyping import Float
from torch import Tensor

from models.graph.statement import RELATION
from models.packs.pack import Fact, Pack
from models.thu_ernie.entities.solve import solve_facts
from models.training.kit.plan import Plan
from models.training.thu_ernie.translation import Triples
from models.training.thu_ernie.wordings import Question, Wordings, ask_as_people_write

Value = TypeVar("Value", bound=Hashable)
MOST_FACTS = 4  # facts of a made-up entity
Facts = Mapping[str, Sequence[int]]  # places of a relation's objects, by relation


@dataclass(frozen=True)
class Subject:
    """An entity to ask about."""

    vector: Float[Tensor, " size"]  # its row
    facts: Facts  # its facts
    type: str  # its type in the pack
    name: str = ""  # id of the entity; "" for a made-up one


@dataclass(frozen=True)
class World:
    """The facts of a pack with their rows."""

    pack: Pack  # the facts
    triples: Triples  # the same as numbers
    rows: Float[Tensor, "row size"]  # row of each name
    margin: float  # lead of an edited fact

    @cached_property
    def places(self) -> Mapping[str, int]:
        """Return the place of each name."""
        return {name: place for place, name in enumerate(self.triples.names)}

    @cached_property
    def facts(self) -> Mapping[str, Facts]:
        """Return the facts of each subject."""
        facts: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
        for fact, object in self._pairs:
            facts[fact.subject_id][fact.relation_id].append(object)
        return facts

    @cached_property
    def subjects(self) -> Mapping[str, Sequence[str]]:
        """Return the subjects of each relation."""
        return _group((fact.relation_id, fact.subject_id) for fact in self.pack.facts)

    @cached_property
    def objects(self) -> Mapping[str, Sequence[int]]:
        """Return the objects of each relation."""
        return _group((fact.relation_id, object) for fact, object in self._pairs)

    @cached_property
    def labels(self) -> Mapping[int, str]:
        """Return the text of each object in an answer, in ascending order of the objects."""
        return dict(sorted((object, fact.object) for fact, object in self._pairs))

    @property
    def _pairs(self) -> Iterable[tuple[Fact, int]]:
        return zip(self.pack.facts, self.triples.numbers[:, 2].tolist(), strict=True)

    def step(self, relation: str) -> Float[Tensor, " size"]:
        """Return the row of a relation."""
        return self.rows[self.places[RELATION + relation]]

    def real(self, id: str) -> Subject:
        """Return an entity as the pack has it."""
        return Subject(self.rows[self.places[id]], self.facts[id], self.pack.entities[id].type, id)

    def make_up(self, relation: str, rng: random.Random) -> Subject:
        """Return an entity with a random fact of a relation, and a few of relations that its type has."""
        type = self.pack.relations[relation].subject_type
        other_relations = [
            r for r in self.objects if r != relation and self.pack.relations[r].subject_type == type
        ]
        count = rng.choices(range(MOST_FACTS), (4, 3, 2, 1))[0]
        relations = [relation, *rng.sample(other_relations, min(count, len(other_relations)))]
        facts = {r: [rng.choice(self.objects[r])] for r in relations}
        solutions = [self.rows[objects[0]] - self.step(r) for r, objects in facts.items()]
        return Subject(torch.stack(solutions).mean(0), facts, type)

    def edit(self, id: str, relation: str, rng: random.Random) -> Subject:
        """Return an entity of the pack with another object of a relation, and the row that holds it."""
        subject = self.real(id)
        choices = [place for place in self.objects[relation] if place not in subject.facts[relation]]
        if not choices:
            return subject
        facts = {**subject.facts, relation: [rng.choice(choices)]}
        return Subject(self.solve(subject.vector, facts, relation), facts, subject.type, id)

    def solve(self, vector: Float[Tensor, " size"], facts: Facts, relation: str) -> Float[Tensor, " size"]:
        """Return the row with which the object of one relation leads, while those of the others keep their leads."""
        steps = {r: self.step(r) for r in facts}
        objects = {r: self.rows[list(places)] for r, places in facts.items()}
        candidates = {relation: self.rows[list(self.objects[relation])]}
        return solve_facts(vector, steps, objects, candidates, self.margin)


def _group(pairs: Iterable[tuple[str, Value]]) -> dict[str, list[Value]]:
    """Return the different values of each key, in their order."""
    groups: dict[str, dict[Value, None]] = defaultdict(dict)
    for key, value in pairs:
        groups[key][value] = None
    return {key: list(values) for key, values in groups.items()}


STRANGE = ""  # relation that no fact of the pack has
NO_TARGET = -1  # target of a question that no candidate answers


@dataclass(frozen=True)
class Example:
    """A question with its candidates."""

    question: Question  # the text
    mask: Float[Tensor, " size"] | None  # row that the mask carries; None without one
    mention: Float[Tensor, " size"] | None  # row that the mention carries; None for an unlinked one
    groups: tuple[Float[Tensor, "_ size"], ...]  # rows of the objects of each candidate
    target: int  # number of the right candidate, or NOTHING
    # places of all right objects among the rows of the pack; empty if the rows cannot tell
    right: tuple[int, ...]


@dataclass(frozen=True)
class QuestionMaker:
    """Makes questions."""

    world: World  # facts and rows
    wordings: Wordings  # ways to ask
    mixture: Plan  # shares of the kinds of questions

    def draw(self, rng: random.Random) -> Example:
        """Draw a question as training sees it; each relation is equally frequent."""
        relation = rng.choice(list(self.world.objects))
        subject = self._subject(relation, rng)
        draw = rng.random()
        if draw < self.mixture.absent:
            relation = self._lack(subject, relation, rng)
        elif draw < self.mixture.absent + self.mixture.strange:
            relation = STRANGE
        return self._corrupt(self._ask(subject, relation, rng), rng)

    def _subject(self, relation: str, rng: random.Random) -> Subject:
        draw = rng.random()
        if draw < self.mixture.synthetic:
            return self.world.make_up(relation, rng)
        id = rng.choice(self.world.subjects[relation])
        if draw < self.mixture.synthetic + self.mixture.edited_share:
            return self.world.edit(id, rng.choice([relation, *self.world.facts[id]]), rng)
        return self.world.real(id)

    def _lack(self, subject: Subject, relation: str, rng: random.Random) -> str:
        """Return a relation that the type of an entity may have and the entity lacks."""
        relations = self.world.pack.relations
        other_relations = [r for r in relations if r not in subject.facts]
        fitting = [
            r for r in other_relations if relations[r].subject_type == relations[relation].subject_type
        ]
        return rng.choice(fitting or other_relations or [relation])

    def _ask(self, subject: Subject, relation: str, rng: random.Random) -> Example:
        name = self._name(subject, rng)
        is_strange = relation == STRANGE
        template = rng.choice(self.wordings.strange["train"] if is_strange else self.wordings.train[relation])
        question = ask_as_people_write(template, name, self.mixture, rng)
        right = tuple(subject.facts.get(relation, ()))
        groups = [(r == relation, self.world.rows[list(objects)]) for r, objects in subject.facts.items()]
        if right and rng.random() < self.mixture.fallback:
            fallback_rows = (subject.vector + self.world.step(relation))[None]
            groups = [(is_right, fallback_rows if is_right else rows) for is_right, rows in groups]
        groups += [(False, rows) for rows in self._distractors(subject, relation, right, rng)]
        rng.shuffle(groups)
        target = next((place for place, (is_right, _) in enumerate(groups) if is_right), NO_TARGET)
        return Example(
            question, subject.vector, subject.vector, tuple(rows for _, rows in groups), target, right
        )

    def _name(self, subject: Subject, rng: random.Random) -> str:
        entities = self.world.pack.entities
        if subject.name and rng.random() >= self.mixture.other_name:
            return rng.choice(entities[subject.name].names)
        return entities[rng.choice(self._ids)].label

    @property
    def _ids(self) -> Sequence[str]:
        return self.world.triples.names[: len(self.world.pack.entities)]

    def _distractors(
        self, subject: Subject, relation: str, right: Sequence[int], rng: random.Random
    ) -> list[Float[Tensor, "_ size"]]:
        """Return objects of other entities; without a right answer, none of them is of the relation in question."""
        rows = []
        for _ in range(rng.randint(0, self.mixture.most_distractors)):
            other = relation if right and rng.random() < 0.3 else rng.choice(list(self.world.objects))
            place = rng.choice(self.world.objects[other])
            if place not in right and (right or other != relation):
                rows.append(self.world.rows[[place]])
        return rows

    def _corrupt(self, example: Example, rng: random.Random) -> Example:
        draw = rng.random()
        if draw < self.mixture.unlinked_share:
            return replace(example, mention=None)
        draw -= self.mixture.unlinked_share
        if draw < self.mixture.replaced_share:
            other = rng.choice(self._ids)
            return replace(example, mention=self.world.rows[self.world.places[other]])
        draw -= self.mixture.replaced_share
        if draw < self.mixture.rowless and example.target != NO_TARGET:
            return replace(example, mention=None, mask=None, right=())
        return example


def pad_groups(
    examples: Sequence[Example],
) -> tuple[Float[Tensor, "batch candidate object size"], Tensor]:
    """Return the rows of all candidates, and True where there is one [batch candidate object]."""
    n_candidates = max((len(example.groups) for example in examples), default=1)
    largest = max((len(rows) for example in examples for rows in example.groups), default=1)
    size = next((rows.shape[-1] for example in examples for rows in example.groups), 1)
    vectors = torch.zeros(len(examples), max(1, n_candidates), largest, size)
    is_real = torch.zeros(vectors.shape[:3], dtype=torch.bool)
    for number, example in enumerate(examples):
        for place, rows in enumerate(example.groups):
            vectors[number, place, : len(rows)] = rows
            is_real[number, place, : len(rows)] = True
    return vectors, is_real
