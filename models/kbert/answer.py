"""Answers to a batch of questions, through K-Query, K-Inject, the encoder and the heads.

Rows of one pass have similar lengths, and the result of a row depends on no other row and on no padding (1e-5). A
context is read first (models/reading): if it says the answer, the graph is not asked. Candidates are sorted by the
pair ranker's log-odds plus the support that the facts, or the spans of the context, give each.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, compress
from typing import NamedTuple, TypeAlias

import torch
from jaxtyping import Float
from more_itertools import chunked, constrained_batches
from torch import Tensor

from models.confidence import Confidence
from models.kbert.checkpoint import Model
from models.kbert.coverage import describe_value
from models.kbert.options import (
    Options,
    describe_best,
    list_alternatives,
    list_options,
    list_spans,
    support_candidates,
)
from models.kbert.query import InjectedRelation, Link, Ranks, link_mentions, mask_mention, rankable_labels
from models.kbert.row import QuestionRow, build_row, collate
from models.kbert.tree import InputRefused
from models.kbert.unseen import Query
from models.kit.batching import by_length
from models.kit.replies import NO_ENTITY, NO_GRAPH, decline, reply
from models.reading.reader import Finding, Reader
from models.steps import Steps
from models.system import UNSURE, Ask, Reason, Reply

NO_FACT = Reason("no_fact", "No fact of the graph answers the question.")
ROWS_PER_PASS = 64
# tokens of one pass, some 30 ms of two cores; more would not be quicker there
TOKENS_PER_PASS = {"cpu": 256, "cuda": 4_096}
CHARS_PER_RANKING = {"cpu": 1_024, "cuda": 16_384}  # characters of masked questions that are read together
MAX_READ_CHARS = 600  # characters of a question in MiniLM: an estimate for batches, which cuts nothing
CHECKS_PER_STEP = 8  # questions that the judge reads again before other requests have a turn
ROWS_PER_STEP = 16  # rows that are built before other requests have a turn
# Rows that went through the encoder together: their places among all rows, themselves, and their states, of which only
# [CLS] and the ends of objects have theirs.
Pass: TypeAlias = tuple[list[int], list[QuestionRow], Float[Tensor, "batch token width"]]


@dataclass(frozen=True)
class Reading:
    """A question as it was read."""

    links: tuple[Link, ...]  # mentions with their facts
    row: QuestionRow | None = None  # the question with its facts; None if it holds no token
    # Objects of its facts, or the spans of a context that says the answer; None without a row
    options: Options | None = None
    finding: Finding | None = None  # spans of the context, if there is one

    @property
    def is_truncated(self) -> bool:
        return self.row is not None and self.row.row.tree.is_shortened


class CheckResult(NamedTuple):
    """What the judge finds of a question beside the relation that would answer it."""

    query: Query | None = None  # None if no relation surely answers
    reading: tuple[float, float] | None = None  # what `UnseenCheck.read` finds where no training has seen it
    rating: float | None = None  # probability that it asks for its relation of the pack


class Answerer:
    """Answers questions with a model. Threads may share it.

    Args:
        reader: Reads contexts; questions without one need none.
    """

    def __init__(self, model: Model, reader: Reader | None = None) -> None:
        self.model, self._reader = model, reader

    def read(self, asks: Sequence[Ask]) -> Steps[list[Reading]]:
        """Read each question with its facts, and its context if it has one."""
        all_links = yield from self._link(asks)
        rows = yield from self._rows(
            [(ask.question, None, links) for ask, links in zip(asks, all_links, strict=True)]
        )
        heads = self.model.heads
        options: dict[int, Options] = {}
        for places, part_rows, states in self._passes(rows):
            part_options = list_options(part_rows, heads.point(states), heads.rank_weight)
            options |= zip(places, part_options, strict=True)
            yield
        findings: dict[int, Finding] = {}
        for place, ask in enumerate(asks):
            if ask.context and self._reader is not None:
                findings[place] = yield from self._reader.find_in_steps(ask.question, ask.context)
                if self._reader.is_sure(findings[place]):
                    options[place] = list_spans(findings[place])
        return [
            Reading(links, row, options.get(place), findings.get(place))
            for place, (links, row) in enumerate(zip(all_links, rows, strict=True))
        ]

    def reply(self, asks: Sequence[Ask], readings: Sequence[Reading]) -> Steps[list[Reply]]:
        """Sort the candidates of a question; without any, answer with an option."""
        scales = self.model.confidences
        checks = yield from self._check(asks, readings)
        replies = [self._reply_from_options(*parts) for parts in zip(asks, readings, checks, strict=True)]
        pairs = [
            (ask, reading, text)
            for ask, reading in zip(asks, readings, strict=True)
            for text in ask.candidates
        ]
        matches = iter((yield from self.match(pairs)))
        weight = self.model.heads.support_weight
        for place, (ask, reading) in enumerate(zip(asks, readings, strict=True)):
            supports = support_candidates(reading.options, ask.candidates)
            odds = [(next(matches), weight * support) for support in supports]
            logits = [None if match is None else match + support for match, support in odds]
            if ask.candidates:
                replies[place] = _reply_from_candidates(ask, reading, ask.candidates, logits, scales["pair"])
        return replies

    def _check(self, asks: Sequence[Ask], readings: Sequence[Reading]) -> Steps[list[CheckResult]]:
        """Let the judge read questions again beside the relations that would answer them, several at once."""
        checks, check = [CheckResult()] * len(asks), self.model.relation_check
        if check is None:
            return checks
        sure = {
            place: Query(ask.question, reading.links, relation)
            for place, (ask, reading) in enumerate(zip(asks, readings, strict=True))
            if (relation := self.find_sure(reading)) is not None
        }
        for places in chunked(sure, CHECKS_PER_STEP):
            yield
            queries = [sure[place] for place in places]
            is_unseen = [check.concerns(query.question, query.relation) for query in queries]
            judge_readings = iter(check.read([*compress(queries, is_unseen)]))
            ratings = check.rate(queries)
            for place, query, is_read, rating in zip(places, queries, is_unseen, ratings, strict=True):
                checks[place] = CheckResult(query, next(judge_readings) if is_read else None, rating)
        return checks

    def find_sure(self, reading: Reading) -> InjectedRelation | None:
        """Return the relation of the best option, if its objects surely answer as far as the row says."""
        if reading.options is None or not reading.options.by_logit:
            return None
        scale, relation = self.model.confidences["object"], reading.options.by_logit[0].relation
        is_sure = relation is not None and scale.score(describe_best(reading.options)) >= scale.threshold
        return relation if is_sure else None

    def _reply_from_options(self, ask: Ask, reading: Reading, check_result: CheckResult) -> Reply:
        """Reply with a span of the context or with the objects of a relation."""
        options, check = reading.options, self.model.relation_check
        if options is None or not options.by_logit:
            return self._decline(ask, reading)
        best = options.by_logit[0]
        if best.relation is None:
            return self._reply_from_context(ask, reading)
        features, scale = describe_best(options), self.model.confidences["object"]
        reason = UNSURE
        if check and check_result.query and check_result.reading:
            scale = check.record.scale
            features = (*features, *check_result.reading)
            if scale.score(features) < scale.threshold:
                reason = check.describe_gap(check_result.query)
        score = scale.score(features)
        if gap := describe_value(ask, best.relation):
            score, reason = 0.0, gap
        elif (
            check
            and check_result.query
            and (doubt := check.find_doubt(check_result.query, check_result.rating))
        ):
            score, reason = min(score, check_result.rating or 0.0), doubt
        if score < scale.threshold and reading.finding is not None:
            return self._reply_from_context(ask, reading)
        alternatives = list_alternatives(options, score, ask.top_k - 1)
        return _reply(best.answer, score, scale, best.relation, alternatives, reading, reason)

    def _reply_from_context(self, ask: Ask, reading: Reading) -> Reply:
        assert self._reader is not None
        assert reading.finding is not None
        return self._reader.reply(ask, reading.finding)

    def _decline(self, ask: Ask, reading: Reading) -> Reply:
        """Return the reason why a question without options is not answered."""
        if reading.finding is not None:
            return self._reply_from_context(ask, reading)
        if any(link.relations for link in reading.links):
            reason = UNSURE  # the graph has facts, though the question leaves no room for them
        elif not ask.use_graph:
            reason = NO_GRAPH
        else:
            reason = NO_FACT if reading.links else NO_ENTITY
        return decline(reason, truncated=reading.is_truncated)

    def match(self, pairs: Sequence[tuple[Ask, Reading, str]]) -> Steps[list[float | None]]:
        """Return the log-odds that each text answers its question, before support; None for one without a token."""
        rows = yield from self._rows([(ask.question, text, reading.links) for ask, reading, text in pairs])
        logits: dict[int, float] = {}
        for places, _, states in self._passes(rows):
            logits |= zip(places, self.model.heads.match(states[:, 0]).tolist(), strict=True)
            yield
        return [logits.get(place) for place in range(len(pairs))]

    def _link(self, asks: Sequence[Ask]) -> Steps[list[tuple[Link, ...]]]:
        """Choose entities and facts by K-Query; the masked questions of the batch are read together."""
        settings = self.model.settings
        mentions = [ask.mentions if ask.use_graph else () for ask in asks]
        queries = [
            (mask_mention(ask.question, mention.start, mention.end), rankable_labels(mention))
            for ask, ask_mentions in zip(asks, mentions, strict=True)
            for mention in ask_mentions
        ]
        ranks: list[Ranks] = []
        max_chars = CHARS_PER_RANKING[self.model.device.type]
        for part in constrained_batches(
            queries, max_chars, get_len=lambda query: min(len(query[0]), MAX_READ_CHARS), strict=False
        ):
            ranks += self.model.relevance.rank(part)
            yield
        all_ranks = iter(ranks)
        return [
            link_mentions(
                ask_mentions,
                [next(all_ranks) for _ in ask_mentions],
                settings.max_entities,
                settings.max_mentions,
            )
            for ask_mentions in mentions
        ]

    def _rows(
        self, texts: Sequence[tuple[str, str | None, Sequence[Link]]]
    ) -> Steps[list[QuestionRow | None]]:
        """Build a row from each question, second text and links; None if a text holds no token."""
        rows: list[QuestionRow | None] = []
        for question, second, links in texts:
            try:
                row = build_row(question, second, links, self.model.tokens, self.model.settings.max_length)
            except InputRefused:
                rows.append(None)
            else:
                rows.append(row)
            if len(rows) % ROWS_PER_STEP == 0:
                yield
        return rows

    def _passes(self, rows: Sequence[QuestionRow | None]) -> Iterator[Pass]:
        """Yield passes of rows of similar lengths, the shortest first."""
        real = [(place, row) for place, row in enumerate(rows) if row is not None]
        lengths = [len(row.row) for _, row in real]
        for group in by_length(lengths, TOKENS_PER_PASS[self.model.device.type], ROWS_PER_PASS):
            places, group_rows = [real[i][0] for i in group], [real[i][1] for i in group]
            batch = collate(
                [row.row for row in group_rows], self.model.tokens.padding, device=self.model.device
            )
            is_wanted = torch.zeros_like(batch.is_real)
            for line, row in zip(is_wanted, group_rows, strict=True):
                line[[0, *chain.from_iterable(row.objects)]] = True
            yield places, group_rows, self.model.encoder.read(batch, is_wanted)


def _reply_from_candidates(
    ask: Ask,
    reading: Reading,
    candidates: Sequence[str],
    logits: Sequence[float | None],
    scale: Confidence,
) -> Reply:
    """Return the candidates by how well they match, equal ones in the order of the request, those without a token last.

    The answer rests on the best option if that beats no answer and the best candidate names it.
    """
    scores = [0.0 if logit is None else scale.score((logit,)) for logit in logits]
    (score, best), *rest = sorted(zip(scores, candidates, strict=True), key=lambda pair: -pair[0])
    relation: InjectedRelation | None = None
    if reading.options is not None and reading.options.by_logit:
        option = reading.options.by_logit[0]
        if option.logit > reading.options.no_answer and option.is_named_in(best):
            relation = option.relation
    alternatives = [(text, other) for other, text in rest[: ask.top_k - 1]]
    return _reply(best, score, scale, relation, alternatives, reading)


def _reply(
    best: str,
    score: float,
    scale: Confidence,
    relation: InjectedRelation | None,
    alternatives: Sequence[tuple[str, float]],
    reading: Reading,
    reason: Reason = UNSURE,
) -> Reply:
    return reply(
        best,
        score,
        None if score >= scale.threshold else reason,
        (fact.edit for fact in relation.values) if relation else (),
        alternatives,
        truncated=reading.is_truncated,
        facts=relation.to_json() if relation else (),
    )
