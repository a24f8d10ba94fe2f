"""Questions for tuning and for measuring.

The linker is the simplest right one: the mention is the place of the subject's label in the template.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from models.graph.knowledge import Entity, Fact, Mention
from models.graph.view import GraphView
from models.packs.pack import Item, Pack
from models.system import Ask
from models.training.kit.exam import Question
from models.training.texts.relations import RelationText, fits

CROWD = 6  # relations of one entity in a full tree


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
        other_facts: dict[str, list[Fact]] = {}
        for fact in entity.facts:
            other_facts.setdefault(fact.relation, []).append(fact)
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
        objects: dict[str, set[str]] = {}
        for fact in self._pack.facts:
            objects.setdefault(fact.relation_id, set()).add(fact.object)
        return {id: sorted(texts) for id, texts in objects.items()}


def ask_about(template: str, entity: Entity, expected: str | None, relation: str) -> RelationQuestion:
    at = template.index("{subject}")
    mention = Mention(at, at + len(entity.label), (entity,))
    return RelationQuestion(
        Ask(template.replace("{subject}", entity.label), mentions=(mention,)), expected, relation
    )


def without_fact(question: RelationQuestion) -> RelationQuestion | None:
    """Take out the fact that answers; None if no other fact would remain."""
    (mention,) = question.ask.mentions
    (entity,) = mention.entities
    facts = tuple(fact for fact in entity.facts if fact.relation != question.relation)
    if not facts:
        return None
    bare = replace(mention, entities=(replace(entity, facts=facts),))
    return RelationQuestion(replace(question.ask, mentions=(bare,)), None, question.relation)
