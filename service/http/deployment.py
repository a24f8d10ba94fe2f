"""A Ray deployment as a Callee: the one place where foreign exceptions of a call turn into ours.

A call that died with its replica is sent again where that is harmless, so that the loss of a replica costs a
question some milliseconds and not its answer.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from grpc.aio import AioRpcError  # type: ignore[import-untyped]
from ray.exceptions import RayActorError, RayTaskError, TaskCancelledError
from ray.serve.exceptions import BackPressureError, DeploymentUnavailableError
from ray.serve.handle import DeploymentHandle

from service.errors import ErrataError, Internal, NotReady, TooMany

log = logging.getLogger(__name__)

DIED = (RayActorError, AioRpcError)
GIVEN_UP = (TimeoutError, asyncio.CancelledError, TaskCancelledError)  # by us, by the caller or by Ray


class Deployment:
    """name: as a person knows it. attempts: more than one only where calling twice does no harm."""

    def __init__(self, handle: DeploymentHandle, name: str, attempts: int = 1) -> None:
        self._handle = handle
        self._name = name
        self._attempts = attempts
        self._methods: dict[str, DeploymentHandle] = {}

    async def call(self, method: str, *args: Any, limit_s: float) -> Any:
        try:
            async with asyncio.timeout(limit_s) as limit:
                return await self._until_it_lives(method, args)
        except GIVEN_UP as error:
            raise self._given_up(limit_s if limit.expired() else None) from error
        except Exception as error:
            raise self._ours(error) from error

    async def _until_it_lives(self, method: str, args: tuple[Any, ...]) -> Any:
        for left in reversed(range(self._attempts)):
            try:
                return await self._method(method).remote(*args)
            except DIED:
                if not left:
                    raise
                log.warning("%s: a replica died during %s; asking another", self._name, method)
        raise AssertionError("at least one attempt")

    def _method(self, name: str) -> DeploymentHandle:
        if name not in self._methods:
            self._methods[name] = getattr(self._handle, name)
        return self._methods[name]

    def _given_up(self, expired_s: float | None) -> BaseException:
        """A cancellation only where it is this very task that is asked to end: others wait for an answer."""
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            return asyncio.CancelledError()
        if expired_s is not None:
            return NotReady(f"{self._name} did not answer within {expired_s:g} s: try again")
        return NotReady(f"the call to {self._name} was given up: try again in a moment")

    def _ours(self, error: Exception) -> ErrataError:
        cause = error.cause if isinstance(error, RayTaskError) else error
        if isinstance(cause, ErrataError):
            return cause
        if isinstance(cause, BackPressureError):
            return TooMany(f"{self._name} has more requests waiting than it takes: try again in a moment")
        if isinstance(cause, DeploymentUnavailableError | RayActorError | AioRpcError):
            return NotReady(f"{self._name} is being started again: try again in a moment")
        log.error("%s failed", self._name, exc_info=error)
        kind = type(cause).__name__
        return Internal(f"{self._name} failed in a way it should not ({kind}); the log says more")
