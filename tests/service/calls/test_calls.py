"""Calls between two processes, here both ends in one, on the loop of asyncio and on that of Ray's replicas."""

import asyncio
import socket
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import uvloop

from service.calls.caller import Caller, CallLost, ClientConnection, LocalSocketHandle
from service.calls.frames import locate
from service.calls.listener import Listener
from service.concurrency import cancel_and_wait
from service.errors import StaleVersion
from tests.service.parts import PATIENCE_S, wait_until

NAME = "a model / with an odd name, " * 10


@pytest.fixture(params=[asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def run(request: pytest.FixtureRequest) -> Callable[[Any], Any]:
    def run(test: Any) -> Any:
        with asyncio.Runner(loop_factory=request.param) as runner:
            return runner.run(test)

    return run


class TwoPart(Exception):
    """An error that is pickled and cannot be unpickled, as its constructor takes more than its message."""

    def __init__(self, first: str, second: str) -> None:
        super().__init__(f"{first} {second}")


class Part:
    """What listens: it doubles, fails, or waits to be let go."""

    def __init__(self) -> None:
        self.can_go = asyncio.Event()
        self.n_waiting = self.n_cancelled = 0

    async def answer(self, argument: Any) -> Any:
        if argument == "wait":
            self.n_waiting += 1
            try:
                await self.can_go.wait()
            except asyncio.CancelledError:
                self.n_cancelled += 1
                raise
        if argument == "fail":
            raise StaleVersion.at(current=3, expected=2)
        if argument == "fail oddly":
            raise ValueError(threading.Lock())
        if argument == "fail without return":
            raise TwoPart("a", "b")
        return argument * 2


class SlowHandle:
    """Ray's handle, which a batch takes where no listener is."""

    class answer_many:
        @staticmethod
        async def remote(argument: Any) -> str:
            return f"the long way: {argument}"

    describe = "described"


@asynccontextmanager
async def listening(
    folder: Path, answer: Callable[[Any], Awaitable[Any]], id: str = "1"
) -> AsyncIterator[Listener]:
    listener = Listener(locate(folder, NAME, id), answer)
    await listener.start()
    try:
        yield listener
    finally:
        await listener.aclose()


async def find(caller: Caller) -> ClientConnection:
    line = await caller.find_line()
    assert line is not None
    return line


async def wait_for_end(caller: Caller) -> None:
    """Wait until no line is left."""
    async with asyncio.timeout(PATIENCE_S):
        while await caller.find_line() is not None:  # noqa: ASYNC110 (the loop tells of no end)
            await asyncio.sleep(0.001)


def test_results_and_errors_cross_in_any_size_and_order(tmp_path: Path, run: Callable[[Any], Any]) -> None:
    async def test() -> None:
        part = Part()
        async with listening(tmp_path, part.answer):
            line = await find(Caller(tmp_path, NAME))
            waiting = asyncio.create_task(line.call("wait"))
            large = "é" * 3_000_000
            results = await asyncio.gather(*map(line.call, ["a", large, b"", ["list"]]))
            assert results == ["aa", large * 2, b"", ["list", "list"]]
            with pytest.raises(StaleVersion, match="version 3"):
                await line.call("fail")
            with pytest.raises(RuntimeError, match="ValueError"):
                await line.call("fail oddly")
            with pytest.raises(RuntimeError, match="TwoPart: a b"):
                await line.call("fail without return")
            assert not waiting.done()
            part.can_go.set()
            assert await waiting == "waitwait"

    run(test())


def test_a_cancelled_call_is_cancelled_over_there(tmp_path: Path, run: Callable[[Any], Any]) -> None:
    async def test() -> None:
        part = Part()
        async with listening(tmp_path, part.answer):
            line = await find(Caller(tmp_path, NAME))
            call = asyncio.create_task(line.call("wait"))
            await wait_until(lambda: part.n_waiting == 1)
            await cancel_and_wait([call])
            await wait_until(lambda: part.n_cancelled == 1)
            assert await line.call("still here ") == "still here still here "

    run(test())


def test_calls_under_way_end_before_a_listener_closes(tmp_path: Path, run: Callable[[Any], Any]) -> None:
    async def test() -> None:
        part, caller = Part(), Caller(tmp_path, NAME)
        async with listening(tmp_path, part.answer) as listener:
            line = await find(caller)
            call = asyncio.create_task(line.call("wait"))
            await wait_until(lambda: part.n_waiting == 1)
            end = asyncio.create_task(listener.aclose())
            await asyncio.sleep(0)
            part.can_go.set()
            assert await call == "waitwait"
            await end
        assert not locate(tmp_path, NAME, "1").exists()
        await wait_for_end(caller)
        with pytest.raises(CallLost):
            await line.call("too late")

    run(test())


def test_a_death_ends_the_calls_and_its_socket_is_removed(tmp_path: Path, run: Callable[[Any], Any]) -> None:
    """A killed process leaves its socket behind, and its connections end."""

    async def test() -> None:
        path, now = locate(tmp_path, NAME, "1"), 0.0
        caller = Caller(tmp_path, NAME, clock=lambda: now)
        with socket.socket(socket.AF_UNIX) as dying:
            dying.bind(str(path))
            dying.listen()
            line = await find(caller)
            connection, _ = dying.accept()
            calls = [asyncio.create_task(line.call(word)) for word in ("a", "b")]
            await asyncio.sleep(0)
            connection.close()
        for call in calls:
            with pytest.raises(CallLost):
                await call
        assert path.exists()
        now += 1
        assert await caller.find_line() is None
        assert not path.exists()

    run(test())


def test_the_least_busy_listener_is_called_and_a_new_one_found(
    tmp_path: Path, run: Callable[[Any], Any]
) -> None:
    async def test() -> None:
        first, second, now = Part(), Part(), 0.0
        caller = Caller(tmp_path, NAME, clock=lambda: now)
        async with listening(tmp_path, first.answer):
            calls = [asyncio.create_task((await find(caller)).call("wait"))]
            await wait_until(lambda: first.n_waiting == 1)
            async with listening(tmp_path, second.answer, "2"):
                now += 1
                calls.append(asyncio.create_task((await find(caller)).call("wait")))
                await wait_until(lambda: second.n_waiting == 1)
                first.can_go.set()
                second.can_go.set()
                await asyncio.gather(*calls)

    run(test())


def test_a_batch_takes_rays_handle_where_no_listener_is(tmp_path: Path, run: Callable[[Any], Any]) -> None:
    async def test() -> None:
        now = 0.0
        caller = Caller(tmp_path, NAME, clock=lambda: now)
        handle = LocalSocketHandle(SlowHandle(), caller)
        assert await handle.answer_many.remote("x") == "the long way: x"
        async with listening(tmp_path, Part().answer):
            now += 1
            assert await handle.answer_many.remote("x") == "xx"
        await wait_for_end(caller)
        assert await handle.answer_many.remote("x") == "the long way: x"
        assert handle.describe == "described"

    run(test())


def test_calls_wait_while_the_other_end_does_not_read(tmp_path: Path, run: Callable[[Any], Any]) -> None:
    async def test() -> None:
        async with listening(tmp_path, Part().answer):
            line = await find(Caller(tmp_path, NAME))
            line.frames.pause_writing()
            call = asyncio.create_task(line.call("a"))
            await asyncio.sleep(0.05)
            assert line.n_waiting == 0, "nothing was sent"
            line.frames.resume_writing()
            assert await call == "aa"

    run(test())
