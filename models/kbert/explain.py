"""Explanations of answers: the sentence tree that was read, the facts left out of it, and the effect of each fact.

An explanation is JSON and bounded: at most max_entities facts on each of max_mentions words, and MAX_ENTRIES facts
that were left out.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from models.graph.knowledge import Fact
from models.kbert.answer import Answerer, Reading
from models.kbert.query import InjectedRelation, LeftOut
from models.kbert.row import QuestionRow
from models.steps import Steps
from models.system import Ask, Reply

MAX_ENTRIES = 64  # facts left out, and other entities that a name could mean


def explain_replies(
    answerer: Answerer, asks: Sequence[Ask], readings: Sequence[Reading], replies: Sequence[Reply]
) -> Steps[list[Reply]]:
    """Return the replies, with an explanation if the ask wants one.

    The questions with one fact left out each, for all explanations, are one batch.
    """
    places = [place for place, ask in enumerate(asks) if ask.explain]
    variants = {place: list(_without_each_fact(asks[place], readings[place])) for place in places}
    batch = [variant for place in places for variant in variants[place]]
    variant_readings = yield from answerer.read(batch)
    variant_replies = iter((yield from answerer.reply(batch, variant_readings)))
    explained_replies = list(replies)
    for place in places:
        without = [next(variant_replies) for _ in variants[place]]
        explanation = explain(asks[place], readings[place], replies[place], without)
        explained_replies[place] = replace(replies[place], explanation=explanation)
    return explained_replies


def explain(ask: Ask, reading: Reading, reply: Reply, without: Sequence[Reply]) -> dict[str, Any]:
    """Explain one reply; `without[i]` is the reply when the i-th fact of the tree is not in the graph."""
    tokens = () if reading.row is None else reading.row.row.tokens
    relations = () if reading.row is None else reading.row.relations
    left_out = [fact for link in reading.links for fact in link.left_out]
    if reading.row is not None:
        hung = [relation for link in reading.links for relation in link.relations]
        no_room = [relation for relation in hung if relation not in relations]
        left_out += [LeftOut(relation.entity, relation.values[0], "room") for relation in no_room]
    return {
        "tokens": [
            {"text": token.text, "position": token.position, "word": token.anchor, "branch": token.branch}
            for token in tokens
        ],
        "tree": [] if reading.row is None else list(_describe_tree(ask, reading, reading.row)),
        "ambiguous": [
            {
                "text": ask.question[link.start : link.end],
                "chosen": link.entity.id,
                "others": [
                    {"id": other.id, "label": other.label, "fit": round(fit, 4), "degree": other.degree}
                    for other, fit in link.other_entities[:MAX_ENTRIES]
                ],
            }
            for link in reading.links
            if link.other_entities
        ],
        "left_out": [
            {"entity": fact.entity.id, **_name_fact(fact.fact), "reason": fact.reason}
            for fact in left_out[:MAX_ENTRIES]
        ],
        "no_answer": round(reading.options.shares()[1], 4) if reading.options else 1.0,
        "context": None if reading.finding is None else reading.finding.to_json(),
        "rests_on": [dict(fact) for fact in reply.facts],
        "without": [
            {**_name_fact(relation.values[0]), "answer": other.answer, "score": round(other.score, 4)}
            for relation, other in zip(relations, without, strict=True)
        ],
    }


def _name_fact(fact: Fact) -> dict[str, str]:
    return {"relation": fact.relation, "object": fact.object}


def _without_each_fact(ask: Ask, reading: Reading) -> Iterator[Ask]:
    """Yield the question once for each fact of its tree, as if the graph lacked that fact.

    An entity that is mentioned twice loses the fact in both places.
    """
    for relation in () if reading.row is None else reading.row.relations:
        mentions = tuple(
            replace(
                mention,
                entities=tuple(
                    replace(entity, facts=tuple(fact for fact in entity.facts if fact != relation.values[0]))
                    if entity.id == relation.entity.id
                    else entity
                    for entity in mention.entities
                ),
            )
            for mention in ask.mentions
        )
        yield replace(ask, explain=False, top_k=1, mentions=mentions)


def _describe_tree(ask: Ask, reading: Reading, row: QuestionRow) -> Iterator[dict[str, Any]]:
    """Describe each mention with its facts: their share of the softmax, and first and last soft position."""
    scores: dict[InjectedRelation | None, float] = {}
    if reading.options is not None:
        pairs = zip(reading.options.by_logit, reading.options.shares()[0], strict=True)
        scores = {option.relation: share for option, share in pairs}
    positions: dict[int, list[int]] = {}
    for token in row.row.tokens:
        if token.is_injected:
            positions.setdefault(token.branch, [token.position, token.position])[1] = token.position
    branches = {relation: branch for branch, relation in enumerate(row.relations, start=1)}
    for link in reading.links:
        yield {
            "text": ask.question[link.start : link.end],
            "start": link.start,
            "end": link.end,
            "entity": link.entity.id,
            "label": link.entity.label,
            "facts": [
                {
                    "text": relation.text,
                    **_name_fact(relation.values[0]),
                    "rank": round(relation.rank, 4),
                    "score": round(scores.get(relation, 0.0), 4),
                    "positions": positions.get(branches[relation]),
                    "edit": relation.values[0].edit,
                }
                for relation in link.relations
                if relation in branches
            ],
        }
