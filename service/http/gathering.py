"""Questions that arrive together cross the handle together: a call between processes costs more than an answer.

A lone question leaves at once. While `lanes` calls are under way, further ones wait and leave as one call, so that
the busier the service is, the less each question costs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextvars import Context
from typing import Any

from service.errors import NotReady, TooMany
from service.http.callee import Callee
from service.metrics import metrics
from service.replicas.outcome import Outcome

Question = Mapping[str, object]


class Gathering:
    """Of one model. most: questions in one call. room: how many may wait before further ones are turned away."""

    def __init__(self, model: str, callee: Callee, lanes: int, most: int, room: int, limit_s: float) -> None:
        self._callee, self._lanes, self._most, self._room = callee, lanes, most, room
        self._limit_s = limit_s
        self._length = metrics.QUEUE.labels(model, "ingress")
        self._waiting: list[tuple[Question, asyncio.Future[Outcome]]] = []
        self._calls: set[asyncio.Task[None]] = set()

    async def ask(self, question: Question) -> Outcome:
        """TooMany when there is no room; what the call fails with, when it fails."""
        if len(self._waiting) >= self._room:
            raise TooMany(
                f"{len(self._waiting)} questions wait for this model already: try again in a moment"
            )
        answered: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self._waiting.append((question, answered))
        self._pump()
        return await answered

    def _pump(self, _: Any = None) -> None:
        while self._waiting and len(self._calls) < self._lanes:
            some, self._waiting = self._waiting[: self._most], self._waiting[self._most :]
            nobodys = Context()  # in the context of a request, Ray would end the call when that one hangs up
            call = asyncio.create_task(self._call(some), context=nobodys)
            self._calls.add(call)
            call.add_done_callback(self._calls.discard, context=nobodys)
            call.add_done_callback(self._pump, context=nobodys)
        self._length.set(len(self._waiting))

    async def _call(self, some: list[tuple[Question, asyncio.Future[Outcome]]]) -> None:
        """Whatever becomes of the call, nobody is left waiting."""
        some = [(question, answered) for question, answered in some if not answered.done()]  # others hung up
        failure: Exception = NotReady("the call to the model was given up: try again in a moment")
        try:
            questions = [question for question, _ in some]
            outcomes = await self._callee.call("answer_many", questions, limit_s=self._limit_s)
            for (_, answered), outcome in zip(some, outcomes, strict=True):
                _settle(answered, outcome)
        except Exception as error:  # it belongs to those who wait
            failure = error
        finally:
            for _, answered in some:
                _settle(answered, failure)


def _settle(answered: asyncio.Future[Outcome], result: Outcome | Exception) -> None:
    """Unless it is settled, or the caller hung up meanwhile."""
    if answered.done():
        return
    if isinstance(result, Outcome):
        answered.set_result(result)
    else:
        answered.set_exception(result)
