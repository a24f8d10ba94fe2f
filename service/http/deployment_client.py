"""The deployments behind the ingress, as typed calls; the one place that maps foreign exceptions of a call to ours.

A call that died with its replica is sent again if that is harmless, so that the loss of a replica costs a question
some milliseconds and not its answer. It is sent with an id, and refused if it ended two processes (ledger/suspects.py).
Ray is imported only after a call has failed, so that the application can be built, and tested, without it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any
from uuid import uuid4

from errata.wire import ReplicaList

from service.calls.caller import CallLost
from service.editing.call import READ_S, Call
from service.editing.operations import ListReplicas
from service.errors import ErrataError, Internal, NotReady, TooMany
from service.outcome import Outcome

ANSWER_S = 30.0
READY_S = 5.0
DOUBT = "it may have been made: look at the log, or send it again with the same Idempotency-Key"

log = logging.getLogger(__name__)


class ProcessDied(Exception):
    """The process that a call was in died."""


class DeploymentClient:
    """Calls methods of one deployment.

    Args:
        handle: Ray's DeploymentHandle, or any object with its shape: `await handle.method.remote(*args)`.
        attempts: Number of attempts; more than one only if calling twice does no harm.
    """

    def __init__(self, handle: Any, name: str, attempts: int = 1) -> None:
        self.handle = handle
        self._name = name
        self._attempts = attempts

    async def send(self, method: Any, *args: Any, timeout_s: float) -> Any:
        """Call a method of the handle.

        Raises:
            ErrataError: The method's error; TooMany, NotReady or Internal if the call itself fails.
        """
        return await self._call(lambda suspect: method.remote(*args), timeout_s, self._attempts)

    async def _call(
        self, start: Callable[[str], Awaitable[Any]], timeout_s: float, attempts: int, suspect: str = ""
    ) -> Any:
        """Start a call with an id, "" before its process died, and start it again when its process dies.

        Args:
            suspect: Id of a call whose process has died before.
        """
        for _ in range(attempts):
            try:
                return await self._try(partial(start, suspect), timeout_s)
            except ProcessDied:
                suspect = suspect or self._suspect()
        raise self._not_ready()

    def _suspect(self) -> str:
        suspect = uuid4().hex[:12]
        log.warning("%s: a process died during a call, which gets the id %s", self._name, suspect)
        return suspect

    def _not_ready(self) -> NotReady:
        return NotReady(f"{self._name} is being started again: try again in a moment")

    async def _try(self, start: Callable[[], Awaitable[Any]], timeout_s: float) -> Any:
        try:
            async with asyncio.timeout(timeout_s) as timeout:
                return await start()
        except (Exception, asyncio.CancelledError) as error:
            raise self._translate(error, timeout_s if timeout.expired() else None) from error

    def _translate(self, error: BaseException, expired_s: float | None) -> BaseException:
        from ray.exceptions import RayTaskError, TaskCancelledError
        from ray.serve.exceptions import BackPressureError, DeploymentUnavailableError

        cause = error.cause if isinstance(error, RayTaskError) else error
        if isinstance(cause, ErrataError):
            return cause
        if isinstance(error, TimeoutError | asyncio.CancelledError | TaskCancelledError):
            task = asyncio.current_task()
            if task is not None and task.cancelling():  # this very task is asked to end
                return asyncio.CancelledError()
            if expired_s is not None:
                return NotReady(f"{self._name} did not answer within {expired_s:g} s: try again")
            return NotReady(f"the call to {self._name} was given up: try again in a moment")
        if isinstance(cause, BackPressureError):
            return TooMany(f"{self._name} has more requests waiting than it takes: try again in a moment")
        if _is_death(cause):
            return ProcessDied()
        if isinstance(cause, DeploymentUnavailableError):
            return self._not_ready()
        log.error("%s failed", self._name, exc_info=error)
        kind = type(cause).__name__
        return Internal(f"{self._name} failed in a way it should not ({kind}); the log says more")


def _is_death(error: BaseException) -> bool:
    from grpc.aio import AioRpcError  # type: ignore[import-untyped]
    from ray.exceptions import RayActorError

    return isinstance(error, RayActorError | AioRpcError | CallLost)


class ModelClient(DeploymentClient):
    """The replicas of one model. A question is a plain AnswerRequest, and may carry a `trace`."""

    @cached_property
    def _methods(self) -> tuple[Any, Any]:
        """Return the handle with its methods; Ray makes a new handle at each look-up of a method."""
        return self.handle.answer, self.handle.answer_many

    @cached_property
    def _streaming(self) -> Any:
        return self.handle.options(stream=True).stream

    async def answer(self, question: Mapping[str, object], suspect: str = "") -> Outcome:
        """Answer a question, `suspect` if its process has died before."""

        def start(suspect: str) -> Awaitable[Outcome]:
            outcome: Awaitable[Outcome] = self._methods[0].remote(_mark(question, suspect))
            return outcome

        outcome: Outcome = await self._call(start, ANSWER_S, self._attempts, suspect)
        return outcome

    async def answer_many(self, questions: Sequence[Mapping[str, object]]) -> Sequence[Outcome | Exception]:
        """Return the outcomes of questions, in order, from one replica; if that dies, each is asked by itself."""
        try:
            outcomes: list[Outcome] = await self._try(lambda: self._methods[1].remote(questions), ANSWER_S)
        except ProcessDied:
            answers = [self.answer(question, self._suspect()) for question in questions]
            return await asyncio.gather(*answers, return_exceptions=True)  # type: ignore[return-value]
        return outcomes

    async def stream(self, question: Mapping[str, object]) -> AsyncIterator[bytes | Outcome]:
        """Yield deltas as JSON, and last the outcome. Another replica is asked if one dies before its first word."""
        stream: Any = None

        def begin(suspect: str) -> Awaitable[bytes | Outcome]:
            nonlocal stream
            stream = self._streaming.remote(_mark(question, suspect))
            return anext(stream)

        try:
            item = await self._call(begin, ANSWER_S, self._attempts)
            while not isinstance(item, Outcome):
                yield item
                item = await self._call(lambda suspect: anext(stream), ANSWER_S, attempts=1)
            yield item
        finally:
            if stream is not None:
                stream.cancel()

    async def describe(self) -> dict[str, Any]:
        description: dict[str, Any] = await self.send(self.handle.describe, timeout_s=READ_S)
        return description

    async def state(self) -> dict[str, Any]:
        state: dict[str, Any] = await self.send(self.handle.state, timeout_s=READY_S)
        return state


def _mark(question: Mapping[str, object], suspect: str) -> Mapping[str, object]:
    return {**question, "suspect": suspect} if suspect else question


class EditorClient(DeploymentClient):
    """The one writer. Every outcome is a wire model or a problem document, ready to leave."""

    def __init__(self, handle: Any) -> None:
        super().__init__(handle, "the editor")

    async def call(
        self, call: Call[Any], limit_s: float | None = None, attempts: int | None = None
    ) -> Outcome:
        """Make a call. A write with a key is made once, so one that dies with the editor is sent again.

        Args:
            limit_s: Time limit of each attempt, in place of the call's own.
            attempts: Most attempts, in place of the call's own.

        Raises:
            NotReady: It failed; of a write that may have been made, the error has `in_doubt` and the key.
        """

        def start(suspect: str) -> Awaitable[Outcome]:
            marks = {"suspect": suspect} if suspect else {}
            outcome: Awaitable[Outcome] = self.handle.call.remote(call, **marks)
            return outcome

        try:
            outcome: Outcome = await self._call(start, limit_s or call.limit_s, attempts or call.attempts)
        except NotReady as error:
            if not call.is_write:
                raise
            key = getattr(call, "key", None)
            raise NotReady(f"{error.detail}; {DOUBT}", in_doubt=True, idempotency_key=key) from error
        return outcome

    async def find_replicas(self) -> ReplicaList | None:
        """Return the last report of every replica; None while the ledger, to which they report, is away."""
        outcome = await self.call(ListReplicas(), READY_S, attempts=1)
        return ReplicaList.model_validate_json(outcome.body) if outcome.status < 400 else None

    async def state(self) -> dict[str, Any]:
        state: dict[str, Any] = await self.send(self.handle.ready, timeout_s=READY_S)
        return state
