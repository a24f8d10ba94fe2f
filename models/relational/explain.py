"""The reasons of an answer: its path with the weight of each hop, its rivals, broken paths, and the bounds that cut.

Everything is JSON and bounded by MAX_ENTRIES.
"""

from typing import Any

from models.relational.answer import Reading, conclude, edge_json, proof
from models.relational.subgraph import Edge, Subgraph
from models.relational.walk import Step, Walk

MAX_ENTRIES = 16  # entries of each list


def explain(reading: Reading) -> dict[str, Any]:
    """Explain a question that was read."""
    candidates = reading.candidates
    best = candidates[0] if candidates else None
    return {
        "form": reading.form,
        "start": None if best is None else _start(reading, best),
        "path": [] if best is None else _path(reading, best),
        "values": [] if best is None else _values(reading, best),
        "losing": [_losing(reading, walk, candidates[0]) for walk in candidates[1 : MAX_ENTRIES + 1]],
        "broken": [_broken(reading, walk) for walk in reading.search.broken[:MAX_ENTRIES] if walk.weight],
        "forbidden": _forbidden(reading),
        "failed_rules": reading.rules.failures(reading.graph)[:MAX_ENTRIES],
        "cut": [
            {"entity": cut.node, "facts": cut.n_facts, "reason": cut.reason}
            for cut in reading.graph.cuts[:MAX_ENTRIES]
        ],
    }


def _start(reading: Reading, walk: Walk) -> dict[str, Any]:
    mention, node = reading.masked.mentions[walk.mention], reading.graph.nodes[walk.start]
    return {
        "text": reading.ask.question[mention.start : mention.end],
        "entity": node.id,
        "label": node.label,
        "weight": round(reading.starts[walk.mention], 4),
    }


def _values(reading: Reading, walk: Walk) -> list[str]:
    """Return the values that the path leads to: those that were counted, or that yes or no was said of."""
    return sorted({reading.graph.nodes[place].label for place in walk.nodes})[:MAX_ENTRIES]


def _path(reading: Reading, walk: Walk) -> list[dict[str, Any]]:
    return [
        {
            "label": step.label,
            "weight": round(step.weight, 4),
            "no_fact": round(step.broken, 4),
            "facts": [_describe_edge(reading.graph, edge) for edge in edges[:MAX_ENTRIES]],
            "rivals": [
                {"label": label, "weight": round(weight, 4)} for label, weight in step.rivals[:MAX_ENTRIES]
            ],
        }
        for step, edges in zip(walk.steps, proof(reading.graph, walk), strict=True)
    ]


def _describe_edge(graph: Subgraph, edge: Edge) -> dict[str, Any]:
    """Return a fact, with those that it rests on if a rule infers it."""
    basis = [edge_json(graph, part) for part in edge.basis[:MAX_ENTRIES]]
    return {**edge_json(graph, edge), **({"rests_on": basis} if basis else {})}


def _losing(reading: Reading, walk: Walk, best: Walk) -> dict[str, Any]:
    return {
        "answer": conclude(reading, walk),
        "path": [step.label for step in walk.steps],
        "weight": round(walk.weight * reading.starts[walk.mention], 4),
        "why": _why(reading, walk, best),
    }


def _why(reading: Reading, walk: Walk, best: Walk) -> str:
    """Name the first hop at which a losing walk leaves the best one, with both weights."""
    if (walk.mention, walk.start) != (best.mention, best.start):
        start, other = (reading.graph.nodes[w.start].label for w in (walk, best))
        return f"it starts at {start}, and the path from {other} weighs more"
    for hop, (step, other_step) in enumerate(zip(walk.steps, best.steps, strict=False), 1):
        if step.label != other_step.label:
            return f"at hop {hop} {_weigh(step)}, {_weigh(other_step)}"
    if len(walk.steps) < len(best.steps):
        return f"it ends after {len(walk.steps)} facts, where {_weigh(best.steps[len(walk.steps)])}"
    return f"it goes on after {len(best.steps)} facts, where {_weigh(walk.steps[len(best.steps)])}"


def _weigh(step: Step) -> str:
    return f"{step.label!r} weighs {step.weight:.2f}"


def _broken(reading: Reading, walk: Walk) -> dict[str, Any]:
    return {
        "path": [step.label for step in walk.steps],
        "at": [reading.graph.nodes[node].label for node in walk.nodes[:MAX_ENTRIES]],
        "weight": round(walk.weight, 4),
    }


def _forbidden(reading: Reading) -> list[dict[str, Any]]:
    graph = reading.graph
    places = [place for place in range(len(graph.edges)) if place not in reading.field.allowed][:MAX_ENTRIES]
    reasons = reading.rules.why_forbidden(graph, places)
    return [
        {
            **edge_json(graph, graph.edges[place]),
            "rule": reasons[place].sentence,
            "rule_edit": reasons[place].edit,
        }
        for place in places
    ]
