"""Whom examples are about: the pack's entities and facts as training may see them, and objects to swap in."""

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from models.packs.pack import Entity, Item, Pack
from models.training.kbert.relations import Known, Relations, fits
from models.training.kbert.values import invented


@dataclass(frozen=True)
class World:
    """facts: of the subjects that training may see, relation -> first object, held relations left out.

    held: ids of the subjects that training never sees. names: type -> labels of the others. pools: relation or type ->
    objects. near: relation -> those that are easily taken for it, the nearest first.
    """

    relations: Relations
    entities: Mapping[str, Entity]
    facts: Mapping[str, Mapping[str, str]]
    asked: Mapping[str, Sequence[str]]
    held: frozenset[str]
    names: Mapping[str, Sequence[str]]
    pools: Mapping[str, Sequence[str]]
    near: Mapping[str, Sequence[str]]

    def fitting(self, type: str) -> list[str]:
        """Relations of training that an entity of this type may have."""
        return [id for id, relation in self.relations.train.items() if fits(relation, type)]

    def object(self, relation: Known, rng: random.Random) -> str:
        """Some object that the relation could have."""
        made = invented(relation.object, rng) if relation.practice else None
        if made is not None:
            return made
        own = self.pools.get(relation.id, ())
        wide = self.pools.get(relation.object) or self.pools["any"]
        return rng.choice(own if own and rng.random() < 0.7 else wide)


def world(
    pack: Pack, relations: Relations, share: float, seed: int, near: Mapping[str, Sequence[str]]
) -> World:
    """share: of the subjects that are held out."""
    items = list(pack.items())
    subjects = sorted({item.subject.id for item in items})
    held = frozenset(random.Random(f"{seed}/entities").sample(subjects, round(share * len(subjects))))
    facts: dict[str, dict[str, str]] = defaultdict(dict)
    asked: dict[str, list[str]] = defaultdict(list)
    for item in items:
        if item.subject.id not in held and item.relation.id in relations.train:
            facts[item.subject.id][item.relation.id] = (
                item.answer.split(", ")[0] if _many(item) else item.answer
            )
            asked[item.relation.id].append(item.subject.id)
    names: dict[str, list[str]] = defaultdict(list)
    for entity in pack.entities.values():
        if entity.id not in held:
            names[entity.type].append(entity.label)
    return World(relations, pack.entities, facts, asked, held, names, _pools(pack, relations, held), near)


def _many(item: Item) -> bool:
    return item.relation.cardinality == "many"


def _pools(pack: Pack, relations: Relations, held: frozenset[str]) -> dict[str, list[str]]:
    pools: dict[str, set[str]] = defaultdict(set)
    for fact in pack.facts:
        relation = pack.relations[fact.relation_id]
        if fact.subject_id not in held and relation.id in relations.train:
            pools[relation.id].add(fact.object)
            pools[relation.object_type].add(fact.object)
            pools["any"].add(fact.object)
    for entity in pack.entities.values():
        if entity.id not in held:
            pools[entity.type].add(entity.label)
    pools["agent"] |= pools["person"] | pools["organization"]
    return {name: sorted(pool) for name, pool in pools.items()}
