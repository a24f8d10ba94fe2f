"""Entities from the tags of a sentence tree: B, I, I, ... with facts hung in between (specs/kbert.md, section 10).

Injected tokens are stepped over, whatever tag they got, and so is a token that was called [ENT]; a span ends at
its last tagged token.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from models.kbert.row import Row, Token
from models.kbert.tags import ENT

BEGIN, INSIDE = "B-", "I-"


@dataclass(frozen=True, slots=True)
class Span:
    """text[start:end] of the tagged text is an entity of this kind."""

    kind: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Scores:
    """undefined: precision had nothing to divide by, or recall; what is undefined is given as 0."""

    precision: float
    recall: float
    f1: float
    undefined: tuple[str, ...]


def spans(row: Row, tags: Sequence[str]) -> list[Span]:
    """One tag for each token of the row: B-KIND, I-KIND, or anything else for outside.

    An I that does not go on from its own kind begins a span, as a B does.
    """
    found: list[Span] = []
    open_kind: str | None = None
    for token, tag in zip(row.tokens, tags, strict=True):
        if _stepped_over(token, tag):
            continue
        kind = tag[2:] if tag.startswith((BEGIN, INSIDE)) else None
        if kind is not None and kind == open_kind and tag.startswith(INSIDE):
            found[-1] = Span(kind, found[-1].start, token.end)
        elif kind is not None:
            found.append(Span(kind, token.start, token.end))
        open_kind = kind
    return found


def span_scores(expected: Sequence[set[Span]], actual: Sequence[set[Span]]) -> Scores:
    """Micro-averaged over texts: a span counts when its kind and both ends are right."""
    right = sum(len(gold & found) for gold, found in zip(expected, actual, strict=True))
    predicted, wanted = sum(map(len, actual)), sum(map(len, expected))
    undefined = [name for name, count in (("precision", predicted), ("recall", wanted)) if not count]
    precision, recall = right / max(predicted, 1), right / max(wanted, 1)
    f1 = 2 * precision * recall / (precision + recall) if right else 0.0
    return Scores(precision, recall, f1, tuple(undefined))


def _stepped_over(token: Token, tag: str) -> bool:
    return token.injected or tag == ENT
