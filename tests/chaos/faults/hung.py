"""Valkey that hangs, or answers late through a proxy."""

import asyncio
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import redis

from tests.chaos.life import Life
from tests.chaos.scene import Fault, Scene
from tests.cluster.running import kill

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


DELAY_S = 0.05  # each way; a commit asks several times
FROZEN_S = 30.0


def _frozen(scene: Scene) -> None:
    (pid,) = scene.life.service.pids_of("valkey-server")
    start_s, before = scene.recorder.now, len(scene.recorder.answers)
    kill(pid, signal.SIGSTOP)
    try:
        scene.hold(limit_s=FROZEN_S)
    finally:
        kill(pid, signal.SIGCONT)
    answers = [answer for answer in scene.recorder.answers[before:] if answer.sent_s > start_s]
    scene.expect(bool(answers), "answers go on without the ledger")
    scene.expect(
        any(answer.degraded == "ledger_unavailable" for answer in answers), "answers say that they may be old"
    )
    scene.note(f"{len(answers)} answers came within {FROZEN_S:g} s of a frozen ledger")


def _slow(scene: Scene) -> None:
    before = len(scene.journal.acknowledgements)
    with slow_line(scene.life, DELAY_S):
        scene.hold()
        n_commits = len(scene.journal.acknowledgements) - before
    scene.expect(n_commits > 0, "commits are made over a slow line")
    scene.note(f"{n_commits} commits were acknowledged over a line of {2e3 * DELAY_S:g} ms there and back")


FROZEN = Fault("frozen", f"SIGSTOP of Valkey for {FROZEN_S:g} s", _frozen)
SLOW = Fault("slow", f"every reply of Valkey {2e3 * DELAY_S:g} ms late, by a proxy in between", _slow)
