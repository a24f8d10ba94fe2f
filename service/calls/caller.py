"""The ingress's end of the calls: the listeners of one model on this machine, and a handle of Ray that uses them."""

from __future__ import annotations

import asyncio
import os
import pickle
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Any

from service.calls.frames import CANCEL, FramedProtocol, locate, read

LOOK_EVERY_S = 0.5  # seconds between two looks for listeners


class CallLost(Exception):
    """The process that a call was in ended, or closed its connection."""


class ClientConnection:
    """A connection to one listener, with the calls that wait for their results."""

    def __init__(self, on_lost: Callable[[], None]) -> None:
        self._on_lost = on_lost
        self._results: dict[int, asyncio.Future[Any]] = {}
        self._n_calls = 0
        self.frames = FramedProtocol(self._receive, self._end)

    @property
    def n_waiting(self) -> int:
        return len(self._results)

    async def call(self, argument: Any) -> Any:
        """Return the result of a call; raise its error, or CallLost. A cancelled call is cancelled over there, too."""
        number = self._n_calls = self._n_calls + 1
        await self.frames.drain()
        if not self.frames.send(number, pickle.dumps(argument)):
            raise CallLost
        result = self._results[number] = asyncio.get_running_loop().create_future()
        try:
            return await result
        except asyncio.CancelledError:
            self.frames.send(number, CANCEL)
            raise
        finally:
            self._results.pop(number, None)

    def _receive(self, number: int, message: bytes) -> None:
        result = self._results.get(number)
        if result is None or result.done():
            return
        is_result, value = read(message)
        result.set_result(value) if is_result else result.set_exception(value)

    def _end(self) -> None:
        self._on_lost()
        for result in self._results.values():
            if not result.done():
                result.set_exception(CallLost())


class Caller:
    """Finds the listeners of one name, and keeps a line to each. `name`: name that the listeners have in common."""

    def __init__(self, folder: Path, name: str, clock: Callable[[], float] = monotonic) -> None:
        self._pattern, self._clock = locate(folder, name), clock
        self._lines: dict[Path, ClientConnection] = {}
        self._looked_at = float("-inf")

    async def find_line(self) -> ClientConnection | None:
        """Return the line with the fewest calls; None if no listener is there."""
        if self._clock() >= self._looked_at + LOOK_EVERY_S:
            self._looked_at = self._clock()
            for path in self._pattern.parent.glob(self._pattern.name):
                if path not in self._lines:
                    await self._connect(path)
        return min(self._lines.values(), key=lambda line: line.n_waiting, default=None)

    async def _connect(self, path: Path) -> None:
        """Add the line to a listener. The socket of a process that was killed is removed."""
        line = ClientConnection(lambda: self._forget(path))
        try:
            await asyncio.get_running_loop().create_unix_connection(lambda: line.frames, str(path))
        except ConnectionRefusedError:
            with suppress(FileNotFoundError):
                os.unlink(path)
        except OSError:  # it has just closed
            pass
        else:
            self._lines[path] = line

    def _forget(self, path: Path) -> None:
        self._lines.pop(path, None)

    def close(self) -> None:
        for line in list(self._lines.values()):
            line.frames.close()


class LocalSocketHandle:
    """A handle of Ray Serve whose batches of questions go to listeners of this machine while there are any."""

    def __init__(self, handle: Any, caller: Caller) -> None:
        self._handle = handle
        self.answer_many = ShortMethod(handle.answer_many, caller)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._handle, name)


class ShortMethod:
    """A method of a handle that goes the short way."""

    def __init__(self, method: Any, caller: Caller) -> None:
        self._method, self._caller = method, caller

    async def remote(self, argument: Any) -> Any:
        line = await self._caller.find_line()
        return await (self._method.remote(argument) if line is None else line.call(argument))
