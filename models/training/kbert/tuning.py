"""What thresholds are fitted on: held phrasings of every second fact, and a dozen relations that no weight has seen.

Nothing of what is measured in the end is among it: other facts, no held entity, none of the five held relations.
"""

import random
from collections.abc import Iterator, Sequence

from models.graph.knowledge import Entity, Fact
from models.packs.pack import Item
from models.system import Ask
from models.training.kbert.asked import Asker, Question, ask, without_fact
from models.training.kbert.prepare import Prepared
from models.training.kbert.relations import Known
from models.training.kbert.values import invented

PER_RELATION = 120  # questions about each tuning relation
EVERY = 3  # of the facts for tuning, one in so many is asked


def halves(prepared: Prepared) -> tuple[list[Item], list[Item]]:
    """Facts of seen relations: for tuning (of seen entities only), and for measuring."""
    items = [item for item in prepared.pack.items() if item.relation.id in prepared.relations.train]
    tune = [item for item in items[0::2] if item.subject.id not in prepared.world.held]
    return tune, items[1::2]


def objects(prepared: Prepared, asker: Asker, seed: int) -> list[Question]:
    """Answerable ones and, of each that leaves other facts, the same without its fact."""
    rng = random.Random(f"{seed}/tuning")
    asked: list[Question] = []
    for item in halves(prepared)[0][::EVERY]:
        template = rng.choice(item.relation.held)
        asked += [asker.natural(item, template), asker.crowded(item, template, rng)]
    asked += [one for relation in prepared.relations.tune.values() for one in _made(prepared, relation, rng)]
    return asked + [bare for bare in map(without_fact, asked) if bare is not None]


def contexts(
    prepared: Prepared, seed: int, items: Sequence[Item], count: int
) -> Iterator[tuple[Ask, str, str]]:
    """Questions with a text that says it, the answer, and the sentence that says it; the graph is not asked."""
    rng = random.Random(f"{seed}/contexts")
    for item in rng.sample(list(items), count):
        name = item.subject.label
        right = _said(item, name, item.answer, rng)
        others = [rng.choice(items) for _ in range(3)]
        wrong = [_said(one, rng.choice([name, one.subject.label]), one.answer, rng) for one in others]
        told = [
            right,
            *(text for text, one in zip(wrong, others, strict=True) if one.relation != item.relation),
        ]
        rng.shuffle(told)
        question = rng.choice(item.relation.held).replace("{subject}", name)
        yield Ask(question, context=" ".join(told), linked=False), item.answer, right


def choices(
    prepared: Prepared, asker: Asker, seed: int, items: Sequence[Item], count: int
) -> Iterator[tuple[Ask, str]]:
    """Questions with five objects of the relation to choose from, the graph linked in every second one."""
    rng = random.Random(f"{seed}/choices")
    for number, item in enumerate(rng.sample(list(items), count)):
        pool = prepared.world.pools.get(item.relation.id) or prepared.world.pools["any"]
        wrong = [text for text in rng.sample(pool, min(5, len(pool))) if text not in item.answer][:4]
        texts = [item.answer, *wrong]
        rng.shuffle(texts)
        one = asker.crowded(item, rng.choice(item.relation.held), rng).ask
        linked = number % 2 == 0
        mentions = one.mentions if linked else ()
        yield Ask(one.question, 10, candidates=tuple(texts), mentions=mentions, linked=linked), item.answer


def _made(prepared: Prepared, relation: Known, rng: random.Random) -> Iterator[Question]:
    """About entities with a fact of the tuning relation among one to six of other relations."""
    world = prepared.world
    type = relation.subject if relation.subject in world.names else "place"
    for _ in range(PER_RELATION):
        others = rng.sample(world.fitting(type), rng.randint(0, 5))
        facts = [Fact(relation.id, relation.labels[0], _object(prepared, relation, rng))]
        facts += [
            Fact(id, world.relations.train[id].labels[0], _object(prepared, world.relations.train[id], rng))
            for id in others
        ]
        entity = Entity("made", rng.choice(world.names[type]), facts=tuple(facts))
        yield ask(rng.choice(relation.phrasings), entity, facts[0].object, relation.id)


def _object(prepared: Prepared, relation: Known, rng: random.Random) -> str:
    return invented(relation.object, rng) or prepared.world.object(relation, rng)


def _said(item: Item, name: str, answer: str, rng: random.Random) -> str:
    return rng.choice(item.relation.statements).replace("{subject}", name).replace("{object}", answer)
