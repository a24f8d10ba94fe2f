"""One connection between two processes of the service: numbered messages in both directions.

Messages are pickles. Both ends are processes of one user, and the sockets are in a
folder that only this user enters.

"""

from __future__ import annotations

import asyncio
import hashlib
import pickle
from collections.abc import Callable
from pathlib import Path
from struct import Struct
from typing import Any

FOLDER_VARIABLE = "ERRATA_CALL_FOLDER"  # environment variable with the folder of the sockets
HEAD = Struct("!IQ")  # bytes of the message, and its number
CANCEL = b""  # message of a caller that waits no longer

Receive = Callable[[int, bytes], None]


def locate(folder: Path, name: str, id: str = "*") -> Path:
    """Return the path of a listener's socket, or the pattern of all listeners of a name; it is short for any name."""
    return folder / f"{hashlib.sha256(name.encode()).hexdigest()[:12]}-{id}"


def read(message: bytes) -> Any:
    return pickle.loads(message)  # noqa: S301 (Ray's handles do the same; only this user can write it)


class FramedProtocol(asyncio.Protocol):
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
