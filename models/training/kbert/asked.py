"""Questions with what the graph says of their words, for tuning and for measuring.

The linker here is the simplest one that is right: the mention is where the subject's label was put into the template.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from models.graph.knowledge import Entity, Fact, Mention
from models.graph.view import GraphView
from models.packs.pack import Item, Pack
from models.system import Ask
from models.training.kbert.relations import Known, fits

CROWD = 6  # relations of one entity where a tree is to be full


@dataclass(frozen=True)
class Question:
    """expected: None where the graph does not say it."""

    ask: Ask
    expected: str | None
    relation: str


class Asker:
    """Of the pack's own graph, and of entities made for tuning."""

    def __init__(self, pack: Pack, view: GraphView, known: Mapping[str, Known]) -> None:
        self._pack, self._view, self._known = pack, view, known

    def natural(self, item: Item, template: str) -> Question:
        """The entity as it is in the pack."""
        entity = self._view.entity(item.subject.id)
        assert entity is not None
        return ask(template, entity, item.answer, item.relation.id)

    def crowded(self, item: Item, template: str, rng: random.Random) -> Question:
        """With facts of other relations beside its own, until it has CROWD relations, and no more than that."""
        entity = self._view.entity(item.subject.id)
        assert entity is not None
        mine = [fact for fact in entity.facts if fact.relation == item.relation.id]
        others: dict[str, list[Fact]] = {}
        for fact in entity.facts:
            others.setdefault(fact.relation, []).append(fact)
        others.pop(item.relation.id)
        for id in self._fillers(item, rng):
            if id not in others:
                others[id] = [Fact(id, self._known[id].labels[0], rng.choice(self._objects[id]))]
        facts = mine + [fact for id in list(others)[: CROWD - 1] for fact in others[id]]
        return ask(template, replace(entity, facts=tuple(facts)), item.answer, item.relation.id)

    def _fillers(self, item: Item, rng: random.Random) -> list[str]:
        fitting = [id for id, known in self._known.items() if fits(known, item.subject.type)]
        rng.shuffle(fitting)
        return [id for id in fitting if id != item.relation.id]

    @cached_property
    def _objects(self) -> Mapping[str, Sequence[str]]:
        found: dict[str, set[str]] = {}
        for fact in self._pack.facts:
            found.setdefault(fact.relation_id, set()).add(fact.object)
        return {id: sorted(objects) for id, objects in found.items()}


def ask(template: str, entity: Entity, expected: str | None, relation: str) -> Question:
    at = template.index("{subject}")
    mention = Mention(at, at + len(entity.label), (entity,))
    return Question(Ask(template.replace("{subject}", entity.label), mentions=(mention,)), expected, relation)


def without_fact(question: Question) -> Question | None:
    """The fact that is asked for is gone, others remain; None when none would."""
    (mention,) = question.ask.mentions
    (entity,) = mention.entities
    left = tuple(fact for fact in entity.facts if fact.relation != question.relation)
    if not left:
        return None
    bare = replace(mention, entities=(replace(entity, facts=left),))
    return Question(replace(question.ask, mentions=(bare,)), None, question.relation)
