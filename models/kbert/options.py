"""The options of a row: whole objects of its facts, and no answer.

The pointer's start and end logits make one softmax over all options, with "no answer" as the span of [CLS] (Rajpurkar
et al., Know What You Don't Know, arXiv:1806.03822). An object's logit is that of its tokens plus a learned weight times
the rank of its relation. Half an object is never an answer.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from models.kbert.query import InjectedRelation
from models.kbert.row import QuestionRow
from models.kit.names import contains_name
from models.kit.replies import clip, share_rest
from models.reading.reader import Finding

MAX_LEAD = 12.0  # logits further apart than this count as infinitely far
MIN_BELIEF = 0.01  # smaller shares are no evidence for or against a candidate


@dataclass(frozen=True)
class Option:
    """One possible answer."""

    answer: str  # its text
    logit: float  # its logit, before the softmax
    # Relation whose objects are the answer; None for a span of the context
    relation: InjectedRelation | None = None

    def is_named_in(self, text: str) -> bool:
        """Return whether the text holds the answer, or one of the objects that make it up, as whole words."""
        values = () if self.relation is None else self.relation.values
        names = (self.answer, *(fact.object for fact in values))
        return any(contains_name(text.casefold(), name.casefold()) for name in names)


@dataclass(frozen=True)
class Options:
    """The options of a row, the best first, and the logit of no answer."""

    by_logit: tuple[Option, ...]
    no_answer: float

    def shares(self) -> tuple[list[float], float]:
        """Return the softmax over all options, and the share of no answer."""
        top = max([self.no_answer, *(option.logit for option in self.by_logit)])
        weights = [math.exp(option.logit - top) for option in self.by_logit]
        no_answer = math.exp(self.no_answer - top)
        total = sum(weights) + no_answer
        return [weight / total for weight in weights], no_answer / total


def list_options(
    rows: Sequence[QuestionRow], logits: Float[Tensor, "batch token 2"], rank_weight: float
) -> list[Options]:
    """List the options of each row, by the pointer's logits."""
    no_answer = logits[:, 0].sum(-1).tolist()
    options: list[list[Option]] = [[] for _ in rows]
    objects = [  # an object without a token (signs that the tokenizer drops) cannot be pointed at
        (number, first, last, relation)
        for number, row in enumerate(rows)
        for relation, (first, last) in zip(row.relations, row.objects, strict=True)
        if last
    ]
    if objects:
        numbers, firsts, lasts = torch.tensor([place[:3] for place in objects], device=logits.device).T
        scores = (logits[numbers, firsts, 0] + logits[numbers, lasts, 1]).tolist()
        for (number, _, _, relation), score in zip(objects, scores, strict=True):
            logit = score + rank_weight * relation.rank
            options[number].append(Option(relation.answer, logit, relation))
    return [
        Options(tuple(sorted(row_options, key=lambda option: -option.logit)), logit)
        for row_options, logit in zip(options, no_answer, strict=True)
    ]


def describe_best(options: Options) -> tuple[float, ...]:
    """Return the features of the best option's confidence.

    These are its lead over no answer and over the second option, in logits, the rank of its relation, and the lead of
    that rank over the best other one.
    """
    best, *rest = options.by_logit
    rivals = (options.no_answer, rest[0].logit if rest else options.no_answer)
    leads = [clip(best.logit - logit, MAX_LEAD) for logit in rivals]
    rank = best.relation.rank if best.relation else 0.0
    ranks = (option.relation.rank for option in rest if option.relation is not None)
    return (*leads, rank, rank - max(ranks, default=0.0))


def support_candidates(options: Options | None, candidates: Sequence[str]) -> list[float]:
    """Return, for each candidate, the log of the belief in options it names over that in others; 0 without options."""
    if options is None or not options.by_logit:
        return [0.0] * len(candidates)
    shares, _ = options.shares()
    supports = []
    for candidate in candidates:
        names = [option.is_named_in(candidate) for option in options.by_logit]
        pro = sum(share for share, is_named in zip(shares, names, strict=True) if is_named)
        contra = sum(share for share, is_named in zip(shares, names, strict=True) if not is_named)
        supports.append(math.log(pro + MIN_BELIEF) - math.log(contra + MIN_BELIEF))
    return supports


def list_spans(finding: Finding) -> Options:
    """Return the spans of a context as options; the logit of no answer is 0."""
    return Options(tuple(Option(span.text, span.margin) for span in finding.spans), 0.0)


def list_alternatives(options: Options, score: float, count: int) -> list[tuple[str, float]]:
    """Return the options after the best; they share with no answer the rest of the probability."""
    (_, *shares), no_answer = options.shares()
    answers = (option.answer for option in options.by_logit[1:])
    return list(zip(answers, share_rest(score, shares, no_answer), strict=True))[:count]
