"""Poison requests are those that were in a process when it died, so that none of them ends a third one.

A death does not show which request caused it, so each is sent again with an id. The process that takes it notes the id
before each piece of its work in the thread of the models, where nothing else runs meanwhile, and deletes the note
afterwards. A note of another process is left over from a death during that very work.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar
from typing import TypeVar
from uuid import uuid4

from service.errors import Crashed, LedgerUnavailable
from service.ledger import keys
from service.ledger.connection import Connection

T = TypeVar("T")
SUSPECT: ContextVar[str] = ContextVar("suspect", default="")  # id of the request that this task works for


log = logging.getLogger(__name__)


class PoisonRequests:
    """The suspects that one process works for.

    Args:
        part: `editor`, or the name of a model.
        remark: What holds for a refused request of this part, or what its sender may do.
        on_refusal: Is called for each request that is refused.
    """

    def __init__(
        self, connection: Connection, part: str, remark: str, on_refusal: Callable[[], object]
    ) -> None:
        self._connection, self._part, self._remark = connection, part, remark
        self._on_refusal = on_refusal
        self._process = uuid4().hex.encode()

    def run(self, loop: asyncio.AbstractEventLoop, id: str, work: Callable[[], T]) -> T:
        """Run a piece of work in this thread, which does nothing else; the id "" stands for no suspect.

        Raises:
            Crashed: Another process died during a piece of work for this suspect.
            LedgerUnavailable: The note cannot be made; nothing was done.
        """
        if not id:
            return work()
        asyncio.run_coroutine_threadsafe(self._begin(id), loop).result()
        try:
            return work()
        finally:
            asyncio.run_coroutine_threadsafe(self._end(id), loop).result()

    async def _begin(self, id: str) -> None:
        async with self._connection.call("note a request that may end this process"):
            if (await self._connection.commands.hget(keys.SUSPECTS, id)) in (None, self._process):
                await self._connection.commands.hset(keys.SUSPECTS, id, self._process)
                return
        await self._end(id)
        self._on_refusal()
        log.error("request %s ended two processes of %s, and is refused", id, self._part)
        raise Crashed(
            f"this request ended two processes of {self._part!r} and is not tried again; {self._remark}; "
            f"send the maintainers the request itself, the id {id} and the logs (VAR/log)",
            crash_id=id,
        )

    async def _end(self, id: str) -> None:
        """Delete the note. If that fails it stays, which matters only if another process gets the same request."""
        with suppress(LedgerUnavailable):
            await self._connection.send(
                "delete the note about a request", self._connection.commands.hdel(keys.SUSPECTS, id)
            )
