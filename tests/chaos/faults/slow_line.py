"""A proxy in front of Valkey's socket that hands everything on, late.

It takes the place of the socket file; connections that were open before are ended by Valkey itself, so that all new
ones come through here.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import redis

from tests.chaos.life import Life

CHUNK = 65_536


@contextmanager
def slow_line(life: Life, delay_s: float) -> Iterator[None]:
    """Delay all traffic between the service and Valkey by delay_s each way, until the end of the block."""
    behind = life.socket.with_name("behind.sock")
    os.rename(life.socket, behind)
    proxy = _Proxy(life.socket, behind, delay_s)
    try:
        proxy.start()
        _hang_up(life, behind)
        yield
    finally:
        os.replace(behind, life.socket)
        proxy.stop()


def _hang_up(life: Life, socket: Path) -> None:
    with life.redis(socket) as client, suppress(redis.RedisError):
        client.execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")


class _Proxy:
    def __init__(self, front: Path, behind: Path, delay_s: float) -> None:
        self._front, self._behind, self._delay_s = front, behind, delay_s
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._writers: set[asyncio.StreamWriter] = set()

    def start(self) -> None:
        self._thread.start()
        listening = asyncio.start_unix_server(self._serve, self._front)
        self._server = asyncio.run_coroutine_threadsafe(listening, self._loop).result(10)

    def stop(self) -> None:
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    async def _end(self) -> None:
        self._server.close()
        for writer in self._writers:
            writer.transport.abort()
        await asyncio.gather(*(asyncio.all_tasks() - {asyncio.current_task()}))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answers, asks = await asyncio.open_unix_connection(self._behind)
        self._writers |= {writer, asks}
        await asyncio.gather(self._late(reader, asks), self._late(answers, writer))
        self._writers -= {writer, asks}

    async def _late(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        """Pass pieces on in order, each delay_s after it came, however many are on their way."""
        waiting: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()
        delivering = asyncio.create_task(self._deliver(waiting, sink))
        with suppress(OSError):
            while data := await source.read(CHUNK):
                waiting.put_nowait((self._loop.time() + self._delay_s, data))
        waiting.put_nowait((0.0, b""))
        await delivering

    async def _deliver(self, waiting: asyncio.Queue[tuple[float, bytes]], sink: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while (piece := await waiting.get())[1]:
                await asyncio.sleep(max(0.0, piece[0] - self._loop.time()))
                sink.write(piece[1])
                await sink.drain()
        sink.close()
