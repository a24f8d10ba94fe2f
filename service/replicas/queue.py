"""Questions that wait while a batch is answered make up the next batch.

A lone question is answered at once; under load batches fill by themselves, so there is no waiting time to tune. Ray's
own `serve.batch` does the same, but needs a cluster around it, fails a whole batch for one question, and in the pinned
version can hang for good after an error of its own (ray#66140).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

Question = TypeVar("Question")
Answer = TypeVar("Answer")


class Queue(Generic[Question, Answer]):
    """answer_all: one batch, answers in order; an exception as an answer belongs to its question alone."""

    def __init__(
        self, answer_all: Callable[[Sequence[Question]], Awaitable[Sequence[Answer | Exception]]], most: int
    ) -> None:
        self._answer_all, self._most = answer_all, most
        self._waiting: list[tuple[Question, asyncio.Future[Answer]]] = []
        self._running: asyncio.Task[None] | None = None

    @property
    def length(self) -> int:
        """Of those that wait, without the batch that is being answered."""
        return len(self._waiting)

    async def ask(self, question: Question) -> Answer:
        answered: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting.append((question, answered))
        if self._running is None:
            self._running = asyncio.create_task(self._run())
        return await answered

    async def _run(self) -> None:
        try:
            while self._waiting:
                await asyncio.sleep(0)  # whoever arrived in the same moment joins the batch
                batch, self._waiting = self._waiting[: self._most], self._waiting[self._most :]
                await self._answer([pair for pair in batch if not pair[1].done()])  # the others hung up
        finally:
            self._running = None

    async def _answer(self, batch: list[tuple[Question, asyncio.Future[Answer]]]) -> None:
        try:
            answers = await self._answer_all([question for question, _ in batch]) if batch else []
        except Exception as error:
            answers = [error] * len(batch)
        for (_, answered), answer in zip(batch, answers, strict=True):
            if answered.done():
                continue
            if isinstance(answer, Exception):
                answered.set_exception(answer)
            else:
                answered.set_result(answer)
