"""Why an answer came out: the sentence tree that was read, what was left out of it, and what each fact changes.

Everything is JSON and bounded: at most max_entities facts on each of max_mentions words, and MOST entries of what was
left out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from models.graph.knowledge import Fact, Mention
from models.kbert.answering import Read
from models.kbert.choice import Chosen, Hung
from models.kbert.planted import Planted
from models.kbert.replies import shares
from models.system import Ask, Reply

MOST = 64  # facts that were left out, and entities that a name could mean, too


def explain(ask: Ask, read: Read, reply: Reply, without: Sequence[Reply]) -> dict[str, Any]:
    """without[i]: the reply when the i-th fact of the tree is not in the graph."""
    planted = read.planted
    found = () if planted is None else planted.hung
    return {
        "tokens": [] if planted is None else _tokens(planted),
        "tree": [] if planted is None else _tree(ask, read, planted),
        "ambiguous": [_ambiguous(ask, one) for one in read.chosen if one.others],
        "left_out": _left_out(read)[:MOST],
        "no_answer": round(shares(read.options)[1], 4) if read.options and read.options.found else 1.0,
        "rests_on": [dict(fact) for fact in reply.facts],
        "without": [_without(hung, other) for hung, other in zip(found, without, strict=True)],
    }


def left_out_in_turn(ask: Ask, read: Read) -> list[Ask]:
    """The question once for each fact of its tree, asked of a graph without that fact."""
    hung = () if read.planted is None else read.planted.hung
    bare = replace(ask, explain=False, top_k=1)
    return [replace(bare, mentions=tuple(_less(m, one) for m in ask.mentions)) for one in hung]


def _less(mention: Mention, hung: Hung) -> Mention:
    """An entity that is mentioned twice loses the fact in both places."""
    fact = hung.values[0]
    entities = tuple(
        replace(entity, facts=tuple(one for one in entity.facts if one != fact))
        if entity.id == hung.entity.id
        else entity
        for entity in mention.entities
    )
    return replace(mention, entities=entities)


def _tokens(planted: Planted) -> list[dict[str, Any]]:
    return [
        {"text": token.text, "position": token.position, "word": token.anchor, "branch": token.branch}
        for token in planted.row.tokens
    ]


def _tree(ask: Ask, read: Read, planted: Planted) -> list[dict[str, Any]]:
    scores = _scores(read)
    positions = _positions(planted)
    branches = {id(hung): positions.get(number) for number, hung in enumerate(planted.hung, start=1)}
    return [
        {
            "text": ask.question[one.start : one.end],
            "start": one.start,
            "end": one.end,
            "entity": one.entity.id,
            "label": one.entity.label,
            "facts": [
                _fact(hung, scores.get(id(hung), 0.0), branches[id(hung)])
                for hung in one.hung
                if id(hung) in branches
            ],
        }
        for one in read.chosen
    ]


def _fact(hung: Hung, score: float, positions: list[int] | None) -> dict[str, Any]:
    fact = hung.values[0]
    return {
        "text": hung.branch.text,
        "relation": fact.relation,
        "object": fact.object,
        "rank": round(hung.rank, 4),
        "score": round(score, 4),
        "positions": positions,
        "edit": fact.edit,
    }


def _scores(read: Read) -> dict[int, float]:
    """Of each relation that is hung, its share of the softmax."""
    if read.options is None:
        return {}
    each, _ = shares(read.options)
    pairs = zip(read.options.found, each, strict=True)
    return {id(option.hung): share for option, share in pairs if option.hung is not None}


def _positions(planted: Planted) -> dict[int, list[int]]:
    """Branch -> first and last soft position."""
    found: dict[int, list[int]] = {}
    for token in planted.row.tokens:
        if token.injected:
            found.setdefault(token.branch, [token.position, token.position])[1] = token.position
    return found


def _ambiguous(ask: Ask, one: Chosen) -> dict[str, Any]:
    others = [
        {"id": o.entity.id, "label": o.entity.label, "fit": round(o.fit, 4), "degree": o.entity.degree}
        for o in one.others[:MOST]
    ]
    return {"text": ask.question[one.start : one.end], "chosen": one.entity.id, "others": others}


def _left_out(read: Read) -> list[dict[str, Any]]:
    """What K-Query left out, then what had no room in the row."""
    found = [_lost(lost.entity.id, lost.fact, lost.reason) for one in read.chosen for lost in one.left_out]
    if read.planted is not None:
        there = {id(hung) for hung in read.planted.hung}
        found += [
            _lost(hung.entity.id, hung.values[0], "room")
            for one in read.chosen
            for hung in one.hung
            if id(hung) not in there
        ]
    return found


def _lost(entity: str, fact: Fact, reason: str) -> dict[str, Any]:
    return {"entity": entity, "relation": fact.relation, "object": fact.object, "reason": reason}


def _without(hung: Hung, reply: Reply) -> Mapping[str, Any]:
    fact = hung.values[0]
    return {
        "relation": fact.relation,
        "object": fact.object,
        "answer": reply.answer,
        "score": round(reply.score, 4),
    }
