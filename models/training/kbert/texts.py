"""What every phase of kbert's training reads: the pack in other writers' words, relations by split, and the world."""

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from more_itertools import map_reduce

from models.graph.knowledge import Entity, Fact
from models.graph.memory import GraphMemory
from models.graph.view import GraphView
from models.packs.pack import Entity as PackEntity
from models.packs.pack import Item, Pack
from models.training.kit.exam import Question
from models.training.kit.fingerprint import DataFiles
from models.training.kit.plan import Plan
from models.training.texts.inventions import invent
from models.training.texts.phrasings import CHOOSE_HANDS, SLOT, TEST_HANDS, fill, reword
from models.training.texts.relations import Relations, RelationText, fits, split_relations

CROWD = 6  # relations of one entity in a full tree


@dataclass(frozen=True)
class World:
    """Facts and names that training may see."""

    relations: Relations
    entities: Mapping[str, PackEntity]
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


@dataclass(frozen=True)
class RelationQuestion(Question):
    """A question with the relation that it asks for."""

    relation: str


class QuestionMaker:
    """Makes questions about entities of the pack's own graph."""

    def __init__(self, pack: Pack, view: GraphView, relations: Mapping[str, RelationText]) -> None:
        self._pack, self._view, self._relations = pack, view, relations

    def natural(self, item: Item, template: str) -> RelationQuestion:
        """Make a question about the entity as it is in the pack."""
        entity = self._view.entity(item.subject.id)
        assert entity is not None
        return ask_about(template, entity, item.answer, item.relation.id)

    def with_crowd(self, item: Item, template: str, rng: random.Random) -> RelationQuestion:
        """Make a question about the entity with CROWD relations, its own or those of others."""
        entity = self._view.entity(item.subject.id)
        assert entity is not None
        facts = [fact for fact in entity.facts if fact.relation == item.relation.id]
        other_facts = map_reduce(entity.facts, lambda fact: fact.relation)
        other_facts.pop(item.relation.id)
        fillers = [id for id, text in self._relations.items() if fits(text, item.subject.type)]
        rng.shuffle(fillers)
        for id in fillers:
            if id not in other_facts and id != item.relation.id:
                other_facts[id] = [Fact(id, self._relations[id].labels[0], rng.choice(self._objects[id]))]
        facts += [fact for id in list(other_facts)[: CROWD - 1] for fact in other_facts[id]]
        return ask_about(template, replace(entity, facts=tuple(facts)), item.answer, item.relation.id)

    @cached_property
    def _objects(self) -> Mapping[str, Sequence[str]]:
        objects = map_reduce(self._pack.facts, lambda fact: fact.relation_id, lambda fact: fact.object)
        return {id: sorted(set(texts)) for id, texts in objects.items()}


def ask_about(template: str, entity: Entity, expected: str | None, relation: str) -> RelationQuestion:
    return RelationQuestion(fill(template, {SLOT: entity}), expected, relation)


def without_fact(question: RelationQuestion) -> RelationQuestion | None:
    """Take out the fact that answers; None if no other fact would remain."""
    (mention,) = question.ask.mentions
    (entity,) = mention.entities
    facts = tuple(fact for fact in entity.facts if fact.relation != question.relation)
    if not facts:
        return None
    bare = replace(mention, entities=(replace(entity, facts=facts),))
    return RelationQuestion(replace(question.ask, mentions=(bare,)), None, question.relation)


@dataclass(frozen=True)
class Texts:
    """Packs and what they make; the data files behind them are those of the fingerprint."""

    files: DataFiles
    pack: Pack  # held phrasings by the writers on whom choices are made
    test_pack: Pack  # held phrasings by the writers who are tested on
    relations: Relations
    world: World
    maker: QuestionMaker

    @staticmethod
    def read(plan: Plan, folder: Path) -> "Texts":
        """Read the pack in a folder, split its relations, and hold some of its entities out."""
        with DataFiles(folder) as files:
            plain = Pack.load(folder)
            pack, test_pack = reword(plain, CHOOSE_HANDS), reword(plain, TEST_HANDS)
            relations = split_relations(pack, plan.seed, plan.n_tuning)
        every = {**relations.train, **relations.held_out}
        of_pack = {id: relation for id, relation in every.items() if not relation.is_practice}
        graph = GraphMemory.of(folder)
        maker = QuestionMaker(pack, graph.view(graph.base), of_pack)
        world = build_world(pack, relations, plan.entities, plan.seed)
        return Texts(files, pack, test_pack, relations, world, maker)

    def split_items(self) -> tuple[list[Item], list[Item]]:
        """Return facts of trained relations: for tuning (of trained entities only), and for measuring."""
        tuning, test = (
            [item for item in pack.items() if item.relation.id in self.relations.train]
            for pack in (self.pack, self.test_pack)
        )
        return [item for item in tuning[0::2] if item.subject.id not in self.world.held_out], test[1::2]
