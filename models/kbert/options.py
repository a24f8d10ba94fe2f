"""What a row can be answered with: whole objects of its facts, spans of its second text, or nothing.

Half an object is never an answer. "No answer" is the span of [CLS], as in pointer.py; one softmax over all options.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from models.kbert.batch import Batch
from models.kbert.choice import Hung
from models.kbert.planted import Planted
from models.kbert.pointer import allowed_spans
from models.kbert.words import inside_word

LONGEST = 16  # tokens of a span of the context
SPANS = 10  # the best spans of a context; the others are not looked at


@dataclass(frozen=True)
class Option:
    """hung: the relation that is answered; None for a span of the context. logit: before the softmax."""

    answer: str
    logit: float
    hung: Hung | None = None
    start: int = -1
    end: int = -1


@dataclass(frozen=True)
class Options:
    """The best first. nothing: the logit of no answer."""

    found: tuple[Option, ...]
    nothing: float


def options(
    planted: Sequence[Planted], batch: Batch, logits: Float[Tensor, "batch token 2"], rank_weight: float
) -> list[Options]:
    nothing = logits[:, 0].sum(-1).tolist()
    objects = _objects(planted, logits, rank_weight)
    with_text = [number for number, one in enumerate(planted) if one.row.kind == "pair"]
    spans = _spans([planted[n] for n in with_text], _part(batch, with_text), logits[with_text])
    by_row = dict(zip(with_text, spans, strict=True))
    made = []
    for number, found in enumerate(objects):
        every = found + by_row.get(number, [])
        made.append(Options(tuple(sorted(every, key=lambda option: -option.logit)), nothing[number]))
    return made


def _objects(
    planted: Sequence[Planted], logits: Float[Tensor, "batch token 2"], rank_weight: float
) -> list[list[Option]]:
    """An object without a token (it is written in signs that the tokenizer drops) cannot be pointed at."""
    places = [
        (number, first, last, hung)
        for number, one in enumerate(planted)
        for hung, (first, last) in zip(one.hung, one.objects, strict=True)
        if last
    ]
    found: list[list[Option]] = [[] for _ in planted]
    if places:
        rows, firsts, lasts = (torch.tensor([place[i] for place in places]) for i in range(3))
        scores = (logits[rows, firsts, 0] + logits[rows, lasts, 1]).tolist()
        for (number, _, _, hung), score in zip(places, scores, strict=True):
            found[number].append(Option(hung.answer, score + rank_weight * hung.rank, hung))
    return found


def _spans(
    planted: Sequence[Planted], batch: Batch, logits: Float[Tensor, "batch token 2"]
) -> list[list[Option]]:
    """The best spans of the second texts that do not overlap a better one."""
    if not planted:
        return []
    start, end = logits.unbind(-1)
    allowed = allowed_spans([one.row for one in planted], batch, LONGEST) & _second(batch)
    scores = (start[:, :, None] + end[:, None, :]).masked_fill(~allowed, float("-inf")).flatten(1)
    best, places = scores.topk(min(SPANS * SPANS, scores.shape[1]), -1)
    width = batch.ids.shape[1]
    return [
        _apart(one, [(s, p // width, p % width) for s, p in zip(ss, ps, strict=True) if s > float("-inf")])
        for one, ss, ps in zip(planted, best.tolist(), places.tolist(), strict=True)
    ]


def _apart(one: Planted, spans: Sequence[tuple[float, int, int]]) -> list[Option]:
    tokens, text = one.row.tokens, one.row.texts[1]
    kept: list[Option] = []
    for score, first, last in spans:
        start, end = tokens[first].start, tokens[last].end
        whole = not inside_word(text, start) and not inside_word(text, end)
        if whole and all(end <= other.start or other.end <= start for other in kept):
            kept.append(Option(text[start:end], score, None, start, end))
    return kept[:SPANS]


def _second(batch: Batch) -> Bool[Tensor, "batch start end"]:
    """Both ends in the trunk of the second text."""
    there = (batch.segments == 2) & (batch.branch == 0)
    return there[:, :, None] & there[:, None, :]


def _part(batch: Batch, rows: Sequence[int]) -> Batch:
    return batch.rows(torch.tensor(rows, dtype=torch.long))
