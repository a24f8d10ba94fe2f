"""One connection between two processes of the service: numbered messages in both directions.

Messages are pickles. Both ends are processes of one user, and the sockets are in a folder that only this user enters.

A replica's end of the calls: runs what comes in over a socket, each call in a task.

The ingress's end of the calls: the listeners of one model on this machine, and a handle of Ray that uses them.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import pickle
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from struct import Struct
from time import monotonic
from typing import Any

from service.concurrency import cancel_and_wait

FOLDER_VARIABLE = "ERRATA_CALL_FOLDER"  # environment variable with the folder of the sockets
HEAD = Struct("!IQ")  # bytes of the message, and its number
CANCEL = b""  # message of a caller that waits no longer

Receive = Callable[[int, bytes], None]


def locate(folder: Path, name: str, id: str = "*") -> Path:
    """Return the path of a listener's socket, or the pattern of all listeners of a name; it is short for any name."""
    return folder / f"{hashlib.sha256(name.encode()).hexdigest()[:12]}-{id}"


def read(message: bytes) -> Any:
    return pickle.loads(message)  # noqa: S301 (Ray's handles do the same; only this user can write it)


class Frames(asyncio.Protocol):
    """A connection; `on_lost` is called once after the connection has ended."""

    def __init__(self, on_message: Receive, on_lost: Callable[[], None]) -> None:
        self._on_message, self._on_lost = on_message, on_lost
        self._data = bytearray()
        self._transport: asyncio.Transport | None = None
        self._is_writable = asyncio.Event()
        self._is_writable.set()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # or uvloop's
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._data += data
        while len(self._data) >= HEAD.size:
            length, number = HEAD.unpack_from(self._data)
            end = HEAD.size + length
            if len(self._data) < end:
                break
            message = bytes(self._data[HEAD.size : end])
            del self._data[:end]
            self._on_message(number, message)

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._is_writable.set()
        self._on_lost()

    def pause_writing(self) -> None:
        self._is_writable.clear()

    def resume_writing(self) -> None:
        self._is_writable.set()

    async def drain(self) -> None:
        """Wait while the other end reads more slowly than this one sends."""
        await self._is_writable.wait()

    def send(self, number: int, message: bytes) -> bool:
        if self._transport is None:
            return False
        self._transport.write(HEAD.pack(len(message), number) + message)
        return True

    def close(self) -> None:
        """End the connection after all messages have left."""
        if self._transport is not None:
            self._transport.close()


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
        self.frames = Frames(self._receive, self._end)
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
            reply = _pickle_error(error)
        await self.frames.drain()
        self.frames.send(number, reply)

    def _end(self) -> None:
        self._connections.discard(self)
        for task in self.tasks.values():
            task.cancel()


def _pickle_error(error: Exception) -> bytes:
    try:
        message = pickle.dumps((False, error))
        read(message)
        return message
    except Exception:  # an exception may hold anything, and refuse to be made again
        return pickle.dumps((False, RuntimeError(f"{type(error).__name__}: {error}")))


LOOK_EVERY_S = 0.5  # seconds between two looks for listeners


class CallLost(Exception):
    """The process that a call was in ended, or closed its connection."""


class Line:
    """A connection to one listener, with the calls that wait for their results."""

    def __init__(self, on_lost: Callable[[], None]) -> None:
        self._on_lost = on_lost
        self._results: dict[int, asyncio.Future[Any]] = {}
        self._n_calls = 0
        self.frames = Frames(self._receive, self._end)

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
        self._lines: dict[Path, Line] = {}
        self._looked_at = float("-inf")

    async def find_line(self) -> Line | None:
        """Return the line with the fewest calls; None if no listener is there."""
        if self._clock() >= self._looked_at + LOOK_EVERY_S:
            self._looked_at = self._clock()
            for path in self._pattern.parent.glob(self._pattern.name):
                if path not in self._lines:
                    await self._connect(path)
        return min(self._lines.values(), key=lambda line: line.n_waiting, default=None)

    async def _connect(self, path: Path) -> None:
        """Add the line to a listener. The socket of a process that was killed is removed."""
        line = Line(lambda: self._forget(path))
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


class ShortHandle:
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
