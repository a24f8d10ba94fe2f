"""Questions for tuning and for measuring, asked of the system as it is served, and their outcomes.

The linker is the simplest right one: the mention is the place of the subject's label in the template.
"""

import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from models.graph.knowledge import Entity, Fact, Mention
from models.graph.view import GraphView
from models.kbert.system import KbertSystem
from models.packs.pack import Item, Pack
from models.system import Ask, Reply
from models.training.kbert.relations import RelationText, fits

CROWD = 6  # relations of one entity in a full tree
BATCH = 32


@dataclass(frozen=True)
class Question:
    """A question with the expected answer, None if the graph lacks it."""

    ask: Ask
    expected: str | None
    relation: str


class QuestionMaker:
    """Makes questions about entities of the pack's own graph."""

    def __init__(self, pack: Pack, view: GraphView, relations: Mapping[str, RelationText]) -> None:
        self._pack, self._view, self._relations = pack, view, relations

    def natural(self, item: Item, template: str) -> Question:
        """Make a question about the entity as it is in the pack."""
        entity = self._view.entity(item.subject.id)
        assert entity is not None
        return ask_about(template, entity, item.answer, item.relation.id)

    def with_crowd(self, item: Item, template: str, rng: random.Random) -> Question:
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


def ask_about(template: str, entity: Entity, expected: str | None, relation: str) -> Question:
    at = template.index("{subject}")
    mention = Mention(at, at + len(entity.label), (entity,))
    return Question(Ask(template.replace("{subject}", entity.label), mentions=(mention,)), expected, relation)


def without_fact(question: Question) -> Question | None:
    """Take out the fact that answers; None if no other fact would remain."""
    (mention,) = question.ask.mentions
    (entity,) = mention.entities
    facts = tuple(fact for fact in entity.facts if fact.relation != question.relation)
    if not facts:
        return None
    bare = replace(mention, entities=(replace(entity, facts=facts),))
    return Question(replace(question.ask, mentions=(bare,)), None, question.relation)


@dataclass(frozen=True)
class Outcome:
    question: Question
    reply: Reply

    @property
    def is_right(self) -> bool:
        """Whether the answer is right to the letter, or rightly withheld."""
        return self.reply.answer == self.question.expected


def put(system: KbertSystem, questions: Sequence[Question]) -> list[Outcome]:
    """Answer the questions, which hold the facts of the graph; those of similar length are asked together."""
    order = sorted(range(len(questions)), key=lambda place: len(questions[place].ask.mentions))
    replies: dict[int, Reply] = {}
    for start in range(0, len(order), BATCH):
        places = order[start : start + BATCH]
        asks = [questions[place].ask for place in places]
        replies |= zip(places, system.answer(asks, [{}] * len(asks)), strict=True)
    return [Outcome(question, replies[place]) for place, question in enumerate(questions)]


def share(outcomes: Iterable[Outcome], of: Callable[[Outcome], bool] = lambda o: o.is_right) -> float:
    """Return the share of outcomes with a property, in per cent."""
    hits = [of(outcome) for outcome in outcomes]
    return 100 * sum(hits) / max(1, len(hits))


def share_declined(outcomes: Iterable[Outcome]) -> float:
    """Return the share of questions without an answer, in per cent."""
    return share(outcomes, lambda outcome: outcome.reply.answer is None)


def by_relation(outcomes: Iterable[Outcome]) -> dict[str, list[Outcome]]:
    groups: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        groups[outcome.question.relation].append(outcome)
    return dict(sorted(groups.items()))
