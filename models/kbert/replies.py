"""From what a question could be answered with to what is said, or to why nothing is said."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from models.graph.knowledge import Fact
from models.kbert.answering import Read
from models.kbert.choice import Hung
from models.kbert.confidence import NO_ENTITY, NO_FACT, NO_GRAPH, UNSURE, Confidence, features
from models.kbert.options import Option, Options
from models.kbert.support import says_one_of
from models.system import Alternative, Ask, Reply

Scales = Mapping[str, Confidence]


def told(ask: Ask, read: Read, scales: Scales) -> Reply:
    """By the facts and, where there is a context, by a span of it."""
    if read.options is None or not read.options.found:
        return Reply(None, 0.0, "", _missing(ask, read), truncated=_truncated(read))
    best = read.options.found[0]
    scale = scales["span" if best.hung is None else "object"]
    score = scale.score(features(read.options))
    sure = score >= scale.threshold
    rests = _rests(best.hung) if best.hung else {}
    return Reply(
        best.answer if sure else None,
        score,
        best.answer,
        None if sure else UNSURE,
        **rests,
        alternatives=_others(read.options, 1 - score)[: ask.top_k - 1],
        truncated=_truncated(read),
    )


def sorted_out(
    ask: Ask, read: Read, candidates: Sequence[str], fits: Sequence[float | None], scale: Confidence
) -> Reply:
    """The candidates by how well they fit; those without a token come last. `fits` holds support already."""
    scored = [
        (0.0 if fit is None else scale.score((fit,)), text)
        for text, fit in zip(candidates, fits, strict=True)
    ]
    (score, best), *rest = sorted(scored, key=lambda one: -one[0])  # equal ones in the order of the request
    sure = score >= scale.threshold
    hung = _named(read, best)
    return Reply(
        best if sure else None,
        score,
        best,
        None if sure else UNSURE,
        **(_rests(hung) if hung else {}),
        alternatives=tuple(Alternative(text, score) for score, text in rest)[: ask.top_k - 1],
        truncated=_truncated(read),
    )


def plain(entity: str, subject: str, fact: Fact) -> dict[str, Any]:
    """A fact as JSON."""
    return {
        "entity": entity,
        "subject": subject,
        "relation": fact.relation,
        "label": fact.label,
        "object": fact.object,
        "edit": fact.edit,
    }


def shares(read: Options) -> tuple[list[float], float]:
    """The softmax over all options, and of no answer."""
    top = max([read.nothing, *(option.logit for option in read.found)])
    weights = [math.exp(option.logit - top) for option in read.found]
    nothing = math.exp(read.nothing - top)
    total = sum(weights) + nothing
    return [weight / total for weight in weights], nothing / total


def _rests(hung: Hung) -> dict[str, Any]:
    facts = tuple(plain(hung.entity.id, hung.entity.label, fact) for fact in hung.values)
    edits = tuple(dict.fromkeys(fact.edit for fact in hung.values if fact.edit))
    return {"facts": facts, "edits": edits}


def _named(read: Read, candidate: str) -> Hung | None:
    """The relation that speaks for a candidate: the best option, when it beats no answer and the candidate says it."""
    if read.options is None or not read.options.found:
        return None
    best: Option = read.options.found[0]
    if best.hung is None or best.logit <= read.options.nothing:
        return None
    return best.hung if says_one_of(candidate, best) else None


def _others(read: Options, left: float) -> tuple[Alternative, ...]:
    """left: of certainty, after the answer; split in proportion between the other options and no answer."""
    each, nothing = shares(read)
    total = max(sum(each[1:]) + nothing, 1e-9)
    pairs = zip(read.found[1:], each[1:], strict=True)
    return tuple(Alternative(option.answer, left * share / total) for option, share in pairs)


def _missing(ask: Ask, read: Read) -> str:
    """Facts for which the question leaves no room are there all the same."""
    if ask.context or any(one.hung for one in read.chosen):
        return UNSURE
    if not ask.linked:
        return NO_GRAPH
    return NO_FACT if read.chosen else NO_ENTITY


def _truncated(read: Read) -> bool:
    return read.planted is not None and read.planted.shortened
