"""Replies from the best answer, its score and its rivals, so that all systems decline and count in one way."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

from models.graph.knowledge import Fact
from models.graph.statement import DETAILS
from models.system import Alternative, Reason, Reply

NO_ENTITY = Reason("no_entity", "The graph knows nothing that the question names.")
NO_GRAPH = Reason("no_graph", "Without the graph there is nothing to read an answer from.")
SMALLEST_SHARE = 1e-6  # distance of a share from 0 and 1, so that its log-odds are finite


def reply(
    best: str,
    score: float,
    reason: Reason | None,
    edits: Iterable[str] = (),
    alternatives: Iterable[tuple[str, float]] = (),
    **details: Any,
) -> Reply:
    """Return the reply with the best answer, or one that withholds it for a reason; each edit is named once."""
    return Reply(
        best if reason is None else None,
        score,
        best,
        reason,
        tuple(dict.fromkeys(edit for edit in edits if edit)),
        tuple(Alternative(text, share) for text, share in alternatives),
        **details,
    )


def decline(reason: Reason, edits: Iterable[str] = (), **details: Any) -> Reply:
    """Return the reply where there is nothing to answer."""
    return reply("", 0.0, reason, edits, **details)


def share_rest(score: float, weights: Sequence[float], no_answer: float = 0.0) -> list[float]:
    """Divide the probability that the best answer leaves among the others, in proportion to their weights.

    Scored alone, each would get the probability of an answer without rivals. `no_answer` is the weight of none.
    """
    total = max(sum(weights) + no_answer, 1e-9)
    return [(1 - score) * weight / total for weight in weights]


def fact_json(id: str, label: str, fact: Fact) -> dict[str, Any]:
    """Return a fact of the entity with an id and a label, as replies name it."""
    names = {"entity": id, "subject": label, "relation": fact.relation, "label": fact.label}
    identifier = {"object_id": fact.object_id or fact.unit, "unlabelled": True} if fact.unlabelled else {}
    rest = {name: text for name, text in zip(DETAILS, fact.details, strict=True) if text}
    return {**names, "object": fact.object, "edit": fact.edit, **rest, **identifier}


def log_odds(share: float) -> float:
    """Return the log-odds of a share, finite at 0 and 1, too."""
    share = min(max(share, SMALLEST_SHARE), 1 - SMALLEST_SHARE)
    return math.log(share / (1 - share))


def clip(value: float, limit: float) -> float:
    """Return the value within [-limit, limit]."""
    return max(-limit, min(limit, value))
