"""Sends a question to the model that was asked for, and counts how it ended; the only hop of a question starts here.

Every question is counted where all of them pass, those too that never reach a replica. A caller who hangs up is not
counted here, since nobody was refused; the request is, with status 499.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextvars import Context
from functools import partial

from errata.wire import AnswerRequest

from service.batch_queue import BatchQueue
from service.errors import (
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
from service.metrics import metrics
from service.outcome import CODE, Outcome
from service.tracing import inject

SERVER_FAILURES = tuple(
    error.code for error in (Internal, NotReady, VersionAhead, LedgerUnavailable, LedgerCorrupt)
)

Question = Mapping[str, object]


class ModelRouter:
    """The models by the names that callers give.

    Args:
        max_batch: Questions in one call to a replica; further ones go to other replicas meanwhile.
        max_running: Calls under way for one model before questions wait for each other.
        capacity: Questions of one model that may wait.
    """

    def __init__(
        self,
        clients: Mapping[str, ModelClient],
        max_batch: int,
        max_running: int = 2,
        capacity: int = 256,
    ) -> None:
        self._clients, self._max_batch = clients, max_batch
        self._queues = {
            name: BatchQueue[Question, Outcome](
                partial(_send_batch, client),
                max_batch,
                max_running,
                capacity,
                on_length=metrics.QUEUE.labels(name, "ingress").set,
            )
            for name, client in clients.items()
        }
        for name in clients:  # Prometheus sees no increase where a series begins with its first event
            for outcome in ("answered", "declined", TooMany.code, *SERVER_FAILURES):
                metrics.ANSWERS.labels(name, outcome)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._clients)

    def get(self, name: str) -> ModelClient:
        if name not in self._clients:
            names = ", ".join(self._clients)
            raise UnknownModel(
                f"there is no model {name!r} here: there is {names}", models=list(self._clients)
            )
        return self._clients[name]

    async def answer(self, request: AnswerRequest) -> Outcome:
        """Answer one question. One that may have to wait for a version goes alone, so that no other waits with it."""
        client, question = self.get(request.model), _to_question(request)
        try:
            if request.version is None and request.min_version is None:
                outcome = await self._queues[request.model].submit(question)
            else:
                outcome = await client.answer(question)
        except Exception as error:
            code = error.code if isinstance(error, ErrataError) else Internal.code
            metrics.ANSWERS.labels(request.model, code).inc()
            raise
        _count(request.model, outcome)
        return outcome

    async def stream(self, request: AnswerRequest) -> AsyncIterator[bytes | Outcome]:
        """Yield the deltas of one answer as JSON, last its outcome. A call that fails is an outcome as well."""
        client = self.get(request.model)
        try:
            async for item in client.stream(_to_question(request)):
                if isinstance(item, Outcome):
                    _count(request.model, item)
                yield item
        except ErrataError as error:
            outcome = Outcome.of(error, None)
            _count(request.model, outcome)
            yield outcome

    async def answer_many(self, requests: Sequence[AnswerRequest]) -> list[Outcome]:
        """Return one outcome a request, in order. Nothing is raised: a call that fails is the outcome of its items."""
        places: dict[str, list[int]] = {}
        for place, request in enumerate(requests):
            places.setdefault(request.model, []).append(place)
        batches = [
            (model, members[start : start + self._max_batch])
            for model, members in places.items()
            for start in range(0, len(members), self._max_batch)
        ]
        outcomes = await asyncio.gather(
            *(self._answer_batch(model, [requests[place] for place in batch]) for model, batch in batches)
        )
        by_place = {
            place: outcome
            for (_, batch), results in zip(batches, outcomes, strict=True)
            for place, outcome in zip(batch, results, strict=True)
        }
        return [by_place[place] for place in range(len(requests))]

    async def _answer_batch(self, model: str, requests: Sequence[AnswerRequest]) -> Sequence[Outcome]:
        try:
            client = self.get(model)
        except UnknownModel as error:
            return [Outcome.of(error, None)] * len(requests)
        try:
            outcomes = await client.answer_many([_to_question(request) for request in requests])
        except ErrataError as error:
            outcomes = [Outcome.of(error, None)] * len(requests)
        for outcome in outcomes:
            _count(model, outcome)
        return outcomes


async def _send_batch(client: ModelClient, questions: Sequence[Question]) -> Sequence[Outcome]:
    """In a context of its own: in that of a request, Ray would end the call when that request's caller hangs up."""
    return await asyncio.create_task(client.answer_many(questions), context=Context())


def _count(model: str, outcome: Outcome) -> None:
    label = "declined" if outcome.declined else "answered"
    metrics.ANSWERS.labels(model, outcome.headers[CODE] if outcome.status >= 400 else label).inc()


def _to_question(request: AnswerRequest) -> Question:
    """Add the trace that the request is part of: questions of several requests cross the handle in one call."""
    trace = inject()
    return request.model_dump(exclude_defaults=True, exclude={"stream"}) | ({"trace": trace} if trace else {})
