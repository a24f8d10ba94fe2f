"""A replica's end of the calls: runs what comes in over a socket, each call in a task."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from service.calls.frames import CANCEL, FramedProtocol, read
from service.concurrency import cancel_and_wait

# Seconds for calls under way when the listener closes, within Ray's time for a replica's end
LEAST_END_S = 1.5


class Listener:
    """Listens at a path. Each message is the argument of one call.

    Args:
        answer: Makes the result of a call. An exception crosses to the caller.
    """

    def __init__(self, path: Path, answer: Callable[[Any], Awaitable[Any]]) -> None:
        self._path, self._answer = path, answer
        self._connections: set[_Connection] = set()
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_unix_server(
            lambda: _Connection(self._answer, self._connections).frames, self._path
        )

    async def aclose(self) -> None:
        """Take no new connections, let calls under way end, and close."""
        if self._server is not None:
            self._server.close()
        with suppress(FileNotFoundError):
            self._path.unlink()
        tasks = [task for connection in self._connections for task in connection.tasks.values()]
        if tasks:
            await asyncio.wait(tasks, timeout=LEAST_END_S)
        for connection in list(self._connections):
            connection.frames.close()
        await cancel_and_wait(tasks)


class _Connection:
    """A caller's connection, and its calls under way by number."""

    def __init__(self, answer: Callable[[Any], Awaitable[Any]], connections: set[_Connection]) -> None:
        self._answer, self._connections = answer, connections
        self.tasks: dict[int, asyncio.Task[None]] = {}
        self.frames = FramedProtocol(self._receive, self._end)
        connections.add(self)

    def _receive(self, number: int, message: bytes) -> None:
        if message != CANCEL:
            task = self.tasks[number] = asyncio.create_task(self._run(number, message))
            task.add_done_callback(lambda _: self.tasks.pop(number, None))
        elif number in self.tasks:
            self.tasks[number].cancel()

    async def _run(self, number: int, message: bytes) -> None:
        try:
            reply = pickle.dumps((True, await self._answer(read(message))))
        except Exception as error:  # the caller gets it
            reply = pickle_error(error)
        await self.frames.drain()
        self.frames.send(number, reply)

    def _end(self) -> None:
        self._connections.discard(self)
        for task in self.tasks.values():
            task.cancel()


def pickle_error(error: Exception) -> bytes:
    """Return the message of an error that a call raised; one that cannot cross becomes a RuntimeError."""
    try:
        message = pickle.dumps((False, error))
        read(message)
        return message
    except Exception:  # an exception may hold anything, and refuse to be made again
        return pickle.dumps((False, RuntimeError(f"{type(error).__name__}: {error}")))
