"""Entities and facts of the pack that examples for training may use, and objects to swap in."""

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from models.packs.pack import Entity, Pack
from models.training.texts.inventions import invent
from models.training.texts.relations import Relations, RelationText, fits


@dataclass(frozen=True)
class World:
    """Facts and names that training may see."""

    relations: Relations
    entities: Mapping[str, Entity]
    facts: Mapping[str, Mapping[str, str]]  # subject -> relation -> first object
    subjects: Mapping[str, Sequence[str]]  # relation -> ids of the subjects that have it
    held_out: frozenset[str]  # ids of the subjects that training never sees
    names: Mapping[str, Sequence[str]]  # type -> labels of the others
    pools: Mapping[str, Sequence[str]]  # relation or type -> objects
    # Relation -> relations that are easily taken for it, the nearest first
    near: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def fitting(self, type: str) -> list[str]:
        """Return relations of training that an entity of this type may have."""
        return [id for id, relation in self.relations.train.items() if fits(relation, type)]

    def draw_object(self, relation: RelationText, rng: random.Random) -> str:
        """Draw an object that the relation could have."""
        invention = invent(relation.object, rng) if relation.is_practice else None
        if invention is not None:
            return invention
        narrow = self.pools.get(relation.id, ())
        wide = self.pools.get(relation.object) or self.pools["any"]
        return rng.choice(narrow if narrow and rng.random() < 0.7 else wide)


def build_world(pack: Pack, relations: Relations, share: float, seed: int) -> World:
    """Build the world, with a share of the subjects held out."""
    items = list(pack.items())
    subjects = sorted({item.subject.id for item in items})
    held_out = frozenset(random.Random(f"{seed}/entities").sample(subjects, round(share * len(subjects))))
    facts: dict[str, dict[str, str]] = defaultdict(dict)
    by_relation: dict[str, list[str]] = defaultdict(list)
    for item in items:
        if item.subject.id not in held_out and item.relation.id in relations.train:
            holds_many = item.relation.cardinality == "many"
            answer = item.answer.split(", ")[0] if holds_many else item.answer
            facts[item.subject.id][item.relation.id] = answer
            by_relation[item.relation.id].append(item.subject.id)
    names: dict[str, list[str]] = defaultdict(list)
    for entity in pack.entities.values():
        if entity.id not in held_out:
            names[entity.type].append(entity.label)
    pools = _pool_objects(pack, relations, held_out)
    return World(relations, pack.entities, facts, by_relation, held_out, names, pools)


def _pool_objects(pack: Pack, relations: Relations, held_out: frozenset[str]) -> dict[str, list[str]]:
    pools: dict[str, set[str]] = defaultdict(set)
    for fact in pack.facts:
        relation = pack.relations[fact.relation_id]
        if fact.subject_id not in held_out and relation.id in relations.train:
            for pool in (relation.id, relation.object_type, "any"):
                pools[pool].add(fact.object)
    for entity in pack.entities.values():
        if entity.id not in held_out:
            pools[entity.type].add(entity.label)
    pools["agent"] |= pools["person"] | pools["organization"]
    return {name: sorted(pool) for name, pool in pools.items()}
