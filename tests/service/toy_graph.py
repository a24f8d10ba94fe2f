"""A system that reads the graph without a neural net: it answers the relation whose label the question contains.

Its graph overlaps with the table of the toy, so that one fact changes both.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from models.graph.base import Base
from models.graph.knowledge import Entity, Fact
from models.graph.memory import GRAPH, GraphMemory
from models.graph.neighbours import Reach
from models.graph.statement import ALIAS, DESCRIPTION, LABEL, Statement
from models.kbert.answer import NO_FACT
from models.kit.replies import NO_ENTITY, NO_GRAPH, fact_json
from models.memory import Views
from models.packs.pack import Relation
from models.system import Ask, Bundle, Input, Probes, Reply, Side
from tests.service.toy import TABLE, load_toy

TOYS = {"toy": "tests.service.toy:load_toy", "atlas": "tests.service.toy_graph:load_atlas"}
"""What the tests of the graph serve: one fact touches both memories."""

BREAKING = "break the atlas"


def _relation(id: str, label: str, cardinality: Any) -> Relation:
    questions = (f"What is the {label} of {{subject}}?", f"{{subject}}'s {label}?")
    return Relation(id, label, None, cardinality, "thing", "thing", questions, (), ())


RELATIONS = {
    relation.id: relation
    for relation in (
        _relation("capital", "capital", "one"),
        _relation("currency", "currency", "one"),
        _relation("shares_border_with", "neighbour", "many"),
    )
}


def _describe(label: str, *aliases: str, about: str = "", **facts: tuple[str, str]) -> tuple[Statement, ...]:
    return (
        Statement(LABEL, label),
        *(Statement(ALIAS, alias) for alias in aliases),
        *([Statement(DESCRIPTION, about)] if about else []),
        *(Statement(relation, *value) for relation, value in facts.items()),
    )


ENTITIES = {
    "Q419": _describe(
        "Peru", "Republic of Peru", "Перу", capital=("Lima", "Q2868"), currency=("sol", "Q204")
    ),
    "Q298": _describe("Chile", capital=("Santiago", "Q2887"), shares_border_with=("Peru", "Q419")),
    "Q142": _describe("France", capital=("Paris", "Q90"), currency=("euro", "Q4916")),
    "Q17": _describe("Japan", "日本", capital=("Tokyo", "Q1490")),
    "Q2868": _describe("Lima", "City of Kings"),
    "Q2887": _describe("Santiago"),
    "Q90": _describe("Paris"),
    "Q1490": _describe("Tokyo", "東京"),
    "Q5582862": _describe("Cusco", "Cuzco"),
    "Q204": _describe("sol"),
    "Q4916": _describe("euro"),
    "Q230": _describe("Georgia", about="a country", capital=("Tbilisi", "")),
    "Q1428": _describe("Georgia", about="a state", capital=("Atlanta", "")),
}


def base() -> Base:
    return Base("sha256:" + hashlib.sha256(repr(ENTITIES).encode()).hexdigest(), ENTITIES, RELATIONS)


def load_atlas(device: torch.device, dtype: torch.dtype) -> Bundle:
    memory = GraphMemory(base())
    return Bundle(Atlas(memory), (memory,))


class Atlas:
    name = "atlas"
    memories = (GRAPH,)
    inputs: frozenset[Input] = frozenset({"graph"})
    probes = Probes()

    def __init__(self, memory: GraphMemory) -> None:
        self._memory = memory

    def answer(self, asks: Sequence[Ask], views: Sequence[Views]) -> list[Reply]:
        return [_reply(ask) for ask in asks]

    def may_differ(self, before: Side, after: Side) -> list[bool]:
        return [old != new for old, new in zip(before.asks, after.asks, strict=True)]

    def describe(self) -> Mapping[str, Any]:
        return {"engine": "words", "checkpoint": self._memory.base.base}


def _reply(ask: Ask) -> Reply:
    if ask.question == BREAKING:
        raise RuntimeError("this question breaks the atlas")
    if not ask.mentions:
        return Reply(None, 0.0, "", NO_ENTITY if ask.use_graph else NO_GRAPH)
    return _reply_from(list(_asked_for(ask)))


def _reply_from(facts: Sequence[tuple[Entity, Fact]]) -> Reply:
    if not facts:
        return Reply(None, 0.0, "", NO_FACT)
    answer = ", ".join(sorted(fact.object for _, fact in facts))
    rests = tuple(fact_json(entity.id, entity.label, fact) for entity, fact in facts)
    edits = tuple(dict.fromkeys(fact.edit for _, fact in facts if fact.edit))
    return Reply(answer, 1.0, answer, edits=edits, facts=rests)


def _asked_for(ask: Ask) -> Iterator[tuple[Entity, Fact]]:
    """Yield the fact whose relation has the longest label in the question, of the first entity that has it."""
    question = ask.question.casefold()
    for mention in ask.mentions:
        for entity in sorted(mention.entities, key=lambda entity: entity.id):
            labels = {fact.label for fact in entity.facts if fact.label.casefold() in question}
            if labels:
                label = max(labels, key=len)
                yield from ((entity, fact) for fact in entity.facts if fact.label == label)
                return


class Traveller(Atlas):
    """An atlas that follows the relations of a question from right to left: "the capital of the neighbour of Chile"."""

    name = "traveller"
    reach = Reach(hops=3, fan_out=8, max_entities=32)
    probes = Probes(core=("What is the capital of the neighbour of Chile?",))

    def answer(self, asks: Sequence[Ask], views: Sequence[Views]) -> list[Reply]:
        return [_travel(ask) for ask in asks]


def _travel(ask: Ask) -> Reply:
    starts = [entity for mention in ask.mentions for entity in mention.entities]
    entities = {entity.id: entity for entity in (*starts, *ask.neighbours)}
    labels = {fact.label for entity in entities.values() for fact in entity.facts}
    words = ask.question.casefold().strip("?").split()
    ids, facts = [entity.id for entity in starts], list[tuple[Entity, Fact]]()
    for label in [word for word in reversed(words) if word in labels]:
        at_hop = [entities[id] for id in ids if id in entities]
        facts = [(entity, fact) for entity in at_hop for fact in entity.facts if fact.label == label]
        ids = [fact.object_id for _, fact in facts]
    return _reply_from(facts)


def load_traveller(device: torch.device, dtype: torch.dtype) -> Bundle:
    memory = GraphMemory(base())
    return Bundle(Traveller(memory), (memory,))


class Returner(Atlas):
    """An atlas that answers a question without a relation with the subjects of facts about its entities."""

    name = "returner"
    reach = Reach(hops=1, fan_out=8, max_entities=32, fan_in=4)

    def answer(self, asks: Sequence[Ask], views: Sequence[Views]) -> list[Reply]:
        return [_return(ask) for ask in asks]


def _return(ask: Ask) -> Reply:
    if list(_asked_for(ask)):
        return _reply(ask)
    ids = {entity.id for mention in ask.mentions for entity in mention.entities}
    facts = [(entity, fact) for entity in ask.neighbours for fact in entity.facts if fact.object_id in ids]
    answer = ", ".join(sorted(entity.label for entity, _ in facts))
    return replace(_reply_from(facts), answer=answer, best=answer) if facts else _reply_from([])


def load_returner(device: torch.device, dtype: torch.dtype) -> Bundle:
    memory = GraphMemory(base())
    return Bundle(Returner(memory), (memory,))


class Hybrid:
    """A system with two memories: it answers from the graph, and from the table where the graph is silent."""

    name = "hybrid"
    memories = (GRAPH, TABLE)
    inputs: frozenset[Input] = frozenset({"graph"})
    probes = Probes()

    def __init__(self, toy: Bundle, atlas: Bundle) -> None:
        self._toy, self._atlas = toy.system, atlas.system

    def answer(self, asks: Sequence[Ask], views: Sequence[Views]) -> list[Reply]:
        pairs = zip(self._toy.answer(asks, views), self._atlas.answer(asks, views), strict=True)
        return [by_table if by_graph.answer is None else by_graph for by_table, by_graph in pairs]

    def describe(self) -> Mapping[str, Any]:
        return {"engine": "both"}


def load_hybrid(device: torch.device, dtype: torch.dtype) -> Bundle:
    toy, atlas = load_toy(device, dtype), load_atlas(device, dtype)
    return Bundle(Hybrid(toy, atlas), (*atlas.memories, *toy.memories))
