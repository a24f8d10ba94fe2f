"""The measurement: every set of questions of the card, on the system as it is served.

Held phrasings are asked of the facts that tuning did not see. Where a phrasing or a filler is drawn, the seed draws it.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from models.graph.blocks import statements_block
from models.graph.memory import GraphMemory
from models.graph.statement import Statement
from models.kbert.system import KbertSystem
from models.memory import Block, Material
from models.packs.pack import Item
from models.system import Ask
from models.training.kbert import tuning
from models.training.kbert.ablation import ABLATIONS
from models.training.kbert.asked import Asker, Question, ask, without_fact
from models.training.kbert.calibrate import fitted
from models.training.kbert.outcome import Outcome, put
from models.training.kbert.plan import Plan
from models.training.kbert.prepare import Prepared

PHRASINGS, EDITS, ABLATED, OTHERS = 3000, 600, 600, 300  # how many are asked
REFITTED = 5  # of the questions for tuning, a scale of an ablation is fitted on one in so many

Pick = Callable[[Item, random.Random], str]


@dataclass(frozen=True)
class Exam:
    """entities, phrasings, relations: never seen in training; each on the natural graph and with six relations a tree.

    both: entities and phrasings never seen at once. absent: the fact taken out of `phrasings` and of `relations`.
    edited: a triple replaced at run time, of seen and unseen relations. ablated: name -> outcomes on one set, with the
    fact and without it, six relations a tree.
    """

    entities: list[Outcome]
    entities_crowded: list[Outcome]
    both: list[Outcome]
    phrasings: list[Outcome]
    phrasings_crowded: list[Outcome]
    relations: list[Outcome]
    relations_crowded: list[Outcome]
    absent: list[Outcome]
    absent_crowded: list[Outcome]
    absent_unseen: list[Outcome]
    absent_unseen_crowded: list[Outcome]
    strangers: list[Outcome]
    edited: list[Outcome]
    contexts: list[Outcome]
    choices_linked: list[Outcome]
    choices_plain: list[Outcome]
    ablated: dict[str, tuple[list[Outcome], list[Outcome]]]


class Examiner:
    def __init__(
        self, plan: Plan, prepared: Prepared, system: KbertSystem, graph: GraphMemory, asker: Asker
    ) -> None:
        self._plan, self._prepared, self._system, self._asker = plan, prepared, system, asker
        self._graph = graph
        self._seed = plan.seed
        self._items = tuning.halves(prepared)[1]

    def examine(self, say: Callable[[str], None]) -> Exam:
        say("asking about entities, phrasings and relations that training never saw")
        world = self._prepared.world
        seen = set(self._prepared.relations.train)
        every = list(self._prepared.pack.items())
        new = [item for item in every if item.subject.id in world.held and item.relation.id in seen]
        held = random.Random(f"{self._seed}/exam").sample(self._items, min(PHRASINGS, len(self._items)))
        unseen = [item for item in every if item.relation.id in self._prepared.relations.unseen]
        phrasings, relations = self._both(held, _held), self._both(unseen, _any)
        entities = self._both(new, _trained)
        say("asking for what is not there, and what was changed")
        choices = self._choices()
        return Exam(
            entities=self._put(entities[0]),
            entities_crowded=self._put(entities[1]),
            both=self._put(
                [self._asker.natural(item, _held(item, self._rng(item.subject.id))) for item in new]
            ),
            phrasings=self._put(phrasings[0]),
            phrasings_crowded=self._put(phrasings[1]),
            relations=self._put(relations[0]),
            relations_crowded=self._put(relations[1]),
            absent=self._put(_absent(phrasings[0])),
            absent_crowded=self._put(_absent(phrasings[1])),
            absent_unseen=self._put(_absent(relations[0])),
            absent_unseen_crowded=self._put(_absent(relations[1])),
            strangers=self._put(list(self._strangers())),
            edited=self._edited(every),
            contexts=self._contexts(),
            choices_linked=choices[0],
            choices_plain=choices[1],
            ablated=self._ablated([*new, *unseen], say),
        )

    def _both(self, items: Sequence[Item], pick: Pick) -> tuple[list[Question], list[Question]]:
        """Natural, then crowded, in the same phrasings."""
        templates = [pick(item, self._rng(item.subject.id)) for item in items]
        rng = self._rng("crowd")
        pairs = list(zip(items, templates, strict=True))
        return (
            [self._asker.natural(item, template) for item, template in pairs],
            [self._asker.crowded(item, template, rng) for item, template in pairs],
        )

    def _put(self, questions: Sequence[Question]) -> list[Outcome]:
        return put(self._system, questions)

    def _rng(self, what: str) -> random.Random:
        return random.Random(f"{self._seed}/{what}")

    def _strangers(self) -> Iterator[Question]:
        """Names that the pack lacks: nothing links."""
        for one in self._prepared.pack.strangers:
            if one.split == "test":
                template = self._prepared.pack.relations[one.relation_id].held[0]
                yield Question(Ask(template.replace("{subject}", one.subject)), None, one.relation_id)

    def _edited(self, every: Sequence[Item]) -> list[Outcome]:
        """One edit each, all active at once; another object of the relation; asked as training asks."""
        rng = self._rng("edits")
        single = [item for item in every if item.relation.cardinality == "one"]
        by_subject = {item.subject.id: item for item in rng.sample(single, 4 * EDITS)}
        chosen = list(by_subject.values())[:EDITS]
        objects = {
            item.relation.id: [one.answer for one in single if one.relation == item.relation]
            for item in chosen
        }
        new = {item.subject.id: _other(objects[item.relation.id], item.answer, rng) for item in chosen}
        materials = [
            Material(f"e{order}", "graph", _set(order, item, new[item.subject.id]))
            for order, item in enumerate(chosen, start=1)
        ]
        view = self._graph.view(self._graph.fold(materials))
        asked = []
        for item in chosen:
            entity = view.entity(item.subject.id)
            assert entity is not None
            asked.append(
                ask(rng.choice(item.relation.phrasings), entity, new[item.subject.id], item.relation.id)
            )
        return self._put(asked)

    def _contexts(self) -> list[Outcome]:
        given = tuning.contexts(self._prepared, self._seed + 1, self._items, OTHERS)
        return self._put([Question(ask, answer, "") for ask, answer, _ in given])

    def _choices(self) -> tuple[list[Outcome], list[Outcome]]:
        """What would be said, so that the order of the candidates is measured and not the threshold."""
        given = tuning.choices(self._prepared, self._asker, self._seed + 1, self._items, OTHERS)
        found = self._put([Question(ask, answer, "") for ask, answer in given])
        said = [replace(one, reply=replace(one.reply, answer=one.reply.best)) for one in found]
        return said[0::2], said[1::2]

    def _ablated(
        self, items: Sequence[Item], say: Callable[[str], None]
    ) -> dict[str, tuple[list[Outcome], list[Outcome]]]:
        """Each with a scale and a threshold of its own, fitted as those of the whole were."""
        rng = self._rng("ablation")
        some = rng.sample(list(items), min(ABLATED, len(items)))
        asked = [self._asker.crowded(item, _any(item, rng), rng) for item in some]
        sets = (asked, _absent(asked))
        tuned = tuning.objects(self._prepared, self._asker, self._plan.seed)[::REFITTED]
        found = {}
        for name, (without, change) in ABLATIONS.items():
            say(name)
            system = without(self._system)
            if system is not self._system:
                system = self._refitted(system, tuned)
            there, gone = ([replace(q, ask=change(q.ask)) for q in one] for one in sets)
            found[name] = (put(system, there), put(system, gone))
        return found

    def _refitted(self, system: KbertSystem, tuned: Sequence[Question]) -> KbertSystem:
        asks, expected = [one.ask for one in tuned], [one.expected for one in tuned]
        scale = fitted(system.model, asks, expected, self._plan.declined)
        scales = {**system.model.confidences, "object": scale}
        return KbertSystem(replace(system.model, confidences=scales))


def _trained(item: Item, rng: random.Random) -> str:
    return rng.choice(item.relation.phrasings)


def _held(item: Item, rng: random.Random) -> str:
    return rng.choice(item.relation.held)


def _any(item: Item, rng: random.Random) -> str:
    return rng.choice(item.relation.phrasings + item.relation.held)


def _absent(questions: Sequence[Question]) -> list[Question]:
    return [bare for bare in map(without_fact, questions) if bare is not None]


def _other(objects: Sequence[str], old: str, rng: random.Random) -> str:
    return rng.choice(sorted({text for text in objects if text != old}))


def _set(order: int, item: Item, new: str) -> Block:
    statement = Statement(item.relation.id, new, "", "set")
    return statements_block(f"edit/e{order}", order, {item.subject.id: (statement,)})
