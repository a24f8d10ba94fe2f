"""Entities to ask about: entities of the pack, entities with an edited row, and made-up ones with random facts.

The name of an entity teaches nothing: its row has to hold the answer. So rows are also solved for facts that no edit
stated, and a made-up entity is the mean of o - r over its facts, as a new entity's row is.
"""

import random
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import torch
from jaxtyping import Float
from torch import Tensor

from models.graph.statement import RELATION
from models.packs.pack import Fact, Pack
from models.thu_ernie.entities.solve import solve_facts
from models.training.thu_ernie.translation import Triples

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
