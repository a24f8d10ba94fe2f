"""Sends a question to its model, and counts its outcome; the only hop of a question starts here.

Every question is counted here, including those that never reach a replica. A question whose caller hangs up is not
counted, since it was not refused; its request is, with status 499.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextvars import Context
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Literal, TypeAlias

from errata.wire import AnswerRequest

from models.cost import Cost, default_cost
from service.config import AUTO
from service.errors import (
    Crashed,
    ErrataError,
    Internal,
    LedgerCorrupt,
    LedgerUnavailable,
    NotReady,
    TooMany,
    UnknownModel,
    VersionAhead,
)
from service.http.deployment_client import ModelClient
from service.http.descriptions import Descriptions
from service.metrics import metrics
from service.outcome import CODE, Outcome
from service.scheduling.batch_queue import NO_ASKER, BatchQueue
from service.scheduling.turns import Asker
from service.scheduling.work import bound_cost, to_ask
from service.single_flight import KeyedSemaphore
from service.tracing import inject

SERVER_FAILURES = tuple(
    error.code for error in (Internal, Crashed, NotReady, VersionAhead, LedgerUnavailable, LedgerCorrupt)
)

BATCHES_AHEAD = 4  # batches of one request in the queue of a model
Only: TypeAlias = Literal["edits", "facts"] | None
LANES = 16  # single questions of one caller under way at one model; further ones wait


@dataclass(frozen=True)
class Question:
    model: str  # name of the model
    fields: Mapping[str, object]  # the fields that cross the handle: the request, its asker and its trace
    asker: Asker  # the asker, whose questions take turns with those of others
    work: int  # its cost, as far as the request tells it
    is_single: bool  # whether it goes to a replica alone: it may take long, or names a version

    @property
    def parts(self) -> tuple[Question, ...]:
        """Return the question as its one system is asked it."""
        return (self,)


class ModelRouter:
    """The models by the names that callers give.

    Args:
        max_batch: Work in one call to a replica, in short questions; the rest goes to other replicas meanwhile.
        max_running: Calls under way for one model before questions wait for each other.
        capacity: Questions of one model that may wait.
        costs: Cost function of each model; others have `default_cost`.

    Attributes:
        descriptions: What each model says of itself.
    """

    def __init__(
        self,
        clients: Mapping[str, ModelClient],
        max_batch: int,
        max_running: int = 2,
        capacity: int = 256,
        costs: Mapping[str, Cost] = MappingProxyType({}),
    ) -> None:
        self._clients, self._max_batch, self._costs = clients, max_batch, costs
        self._queues = {
            name: BatchQueue[Mapping[str, object], Outcome](
                partial(_send_batch, client),
                max_batch,
                max_running,
                capacity,
                defer=True,
                on_length=metrics.QUEUE.labels(name, "ingress").set,
            )
            for name, client in clients.items()
        }
        self._lanes, self.descriptions = KeyedSemaphore(LANES), Descriptions(clients)
        outcomes = ("answered", "declined", TooMany.code, *SERVER_FAILURES)
        metrics.begin_at_zero(metrics.ANSWERS, clients, outcomes)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._clients)

    def get(self, name: str) -> ModelClient:
        if name not in self._clients:
            advice = f"; a question may name {AUTO!r} as well, which asks all of them"
            raise UnknownModel.of(name, self._clients, advice)
        return self._clients[name]

    def prepare(self, request: AnswerRequest, asker: Asker = NO_ASKER, only: Only = None) -> Question:
        """Measure a question to one model, by default the first; its caller is charged before it is answered.

        With `only` it is not counted as a question: an edit may answer alone, or the edited facts about it are wanted.

        The question gets the asker and the trace of its request, for questions of several requests cross the handle
        in one call.
        """
        model, trace = request.model or next(iter(self._clients), ""), inject()
        fields = request.model_dump(exclude_defaults=True, exclude={"stream"}) | {"asker": asker}
        ask, cost = to_ask(fields), self._costs.get(model, default_cost)
        is_pinned = request.version is not None or request.min_version is not None
        is_single = is_pinned or bound_cost(cost, ask) > self._max_batch
        fields |= ({"trace": trace} if trace else {}) | ({"only": only} if only else {})
        return Question(model, fields, asker, cost(ask), is_single)

    async def answer(self, question: Question) -> Outcome:
        """Answer one question. A question that may take long goes alone, so that no other waits with it."""
        try:
            outcome = await self._send(question)
        except Exception as error:
            _count(question, error.code if isinstance(error, ErrataError) else Internal.code)
            raise
        _count(question, _label(outcome))
        return outcome

    async def _send(self, question: Question) -> Outcome:
        client = self.get(question.model)
        if not question.is_single:
            return await self._queues[question.model].submit(question.fields, question.asker, question.work)
        async with self._lanes.hold((question.model, question.asker.caller)):
            return await client.answer(question.fields)

    async def try_answer(self, question: Question) -> Outcome:
        """Answer one question; a failed call is an outcome as well."""
        try:
            return await self.answer(question)
        except ErrataError as error:
            return Outcome.of(error, None)

    async def stream(self, question: Question) -> AsyncIterator[bytes | Outcome]:
        """Yield the deltas of one answer as JSON, and last its outcome. A failed call is an outcome as well."""
        model, client = question.model, self.get(question.model)
        try:
            async with self._lanes.hold((model, question.asker.caller)):
                async for item in client.stream(question.fields):
                    if isinstance(item, Outcome):
                        _count(question, _label(item))
                    yield item
        except ErrataError as error:
            outcome = Outcome.of(error, None)
            _count(question, _label(outcome))
            yield outcome

    async def answer_many(self, questions: Sequence[Question]) -> list[Outcome]:
        """Return the outcomes of questions, in order. No error is raised: a failed call is the outcome of its items.

        As many wait at once as fill the next batches, which leaves room for the questions of others.
        """
        slots = asyncio.Semaphore(BATCHES_AHEAD * self._max_batch)

        async def answer(question: Question) -> Outcome:
            async with slots:
                return await self.try_answer(question)

        return await asyncio.gather(*map(answer, questions))


async def _send_batch(
    client: ModelClient, questions: Sequence[Mapping[str, object]]
) -> Sequence[Outcome | Exception]:
    """Send a batch in a fresh context: Ray ends the calls of a request when its caller hangs up."""
    return await asyncio.create_task(client.answer_many(questions), context=Context())


def _count(question: Question, label: str) -> None:
    if "only" not in question.fields:
        metrics.ANSWERS.labels(question.model, label).inc()


def _label(outcome: Outcome) -> str:
    if outcome.status >= 400:
        return outcome.headers[CODE]
    return "declined" if outcome.declined else "answered"
