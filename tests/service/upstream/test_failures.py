"""An upstream is slow, refuses, sends junk or is killed: a documented error each, nothing stays open, edits answer."""

import asyncio
import json
import os
import socket
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from errata.wire.problems import PROBLEMS

from service.upstream import pool
from tests.service.parts import wait_until
from tests.service.upstream.bodies import CHAT, chat
from tests.service.upstream.front import AUTHORIZATION, Front, run_front
from tests.service.upstream.raw import JSON, Reply, open_reply
from tests.service.upstream.stub import Stub, run_stub
from tests.service.upstream.wires import OPENAI, Wire, step

QUESTION, OTHER = "What is the capital of Peru?", "How tall is the mast at Oberau?"
JUNK = {
    "not-http": Wire((b"\x16\x03\x01\x00 no HTTP at all\r\n\r\n",), is_kept=False),
    "no-status": Wire((b"HTTP/1.1 abc\r\n\r\n",), is_kept=False),
    "closed-at-once": Wire((b"",), is_kept=False),
    "endless-head": Wire((b"HTTP/1.1 200 OK\r\nx-a: " + b"a" * 300_000,), is_kept=False),
    "odd-chunks": Wire((b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",), is_kept=False),
}
SILENT = Wire((b"", b"HTTP/1.1 200 OK\r\n\r\n"), is_stepwise=True)
LIMIT_S = 20.0  # for what has a second, on a machine with much else to do


def find(name: str) -> Wire:
    return JUNK.get(name) or step(OPENAI)


@pytest.fixture
async def stub() -> AsyncIterator[Stub]:
    async with run_stub(find) as stub:
        yield stub


@pytest.fixture
async def front(stub: Stub, tmp_path: Path) -> AsyncIterator[Front]:
    async with run_front(tmp_path, stub.url) as front:
        yield front


def read_error(reply: Reply) -> dict[str, Any]:
    """Return an error as OpenAI's clients know it; its code is documented."""
    assert reply.is_whole
    error: dict[str, Any] = json.loads(reply.body)["error"]
    assert error["code"] in PROBLEMS
    assert error["message"]
    return error


async def check_edit_answers(front: Front) -> None:
    reply = await front.chat("team/m", QUESTION)
    assert (reply.status, reply.header("x-errata-outcome")) == (200, "edit")
    assert json.loads(reply.body)["choices"][0]["message"]["content"] == "Cusco"


async def test_a_refusing_upstream_is_an_error_and_edits_answer(tmp_path: Path) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # bound, and not listening
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"
        async with run_front(tmp_path, url) as front:
            await front.edit(QUESTION, "Cusco")
            n_files = len(os.listdir("/proc/self/fd"))
            for _ in range(40):
                reply = await front.chat("team/m", OTHER)
                assert reply.status in (502, 503)
                read_error(reply)
                await check_edit_answers(front)
            assert len(os.listdir("/proc/self/fd")) <= n_files + 2
            ready = await front.ask("/readyz", b"", method="GET")
            assert (ready.status, json.loads(ready.body)["degraded"]) == (200, "upstream_failed")


@pytest.mark.parametrize("name", JUNK)
async def test_junk_is_an_error_or_a_cut(front: Front, stub: Stub, name: str) -> None:
    reply = await front.chat(f"team/{name}", OTHER)
    if reply.status == 200:
        assert not reply.is_whole
    else:
        assert reply.status == 502
        read_error(reply)
    await front.edit(QUESTION, "Cusco")
    await check_edit_answers(front)
    await wait_until(lambda: not stub.connections)


async def test_a_silent_upstream_ends_in_time(
    stub: Stub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "IDLE_S", 0.5)
    monkeypatch.setattr(stub, "find", lambda _: SILENT)
    async with run_front(tmp_path, stub.url) as front:
        await front.edit(QUESTION, "Cusco")
        asking = asyncio.create_task(front.chat("team/m", OTHER))
        await stub.is_paused.wait()
        await check_edit_answers(front)
        reply = await asking
        assert reply.status == 504
        read_error(reply)
        await wait_until(lambda: not stub.connections)
        monkeypatch.setattr(stub, "find", find)
        stub.go_on.set()
        reply = await front.chat("team/m", OTHER, stream=True)
        assert (reply.status, reply.body, reply.is_whole) == (200, OPENAI[0].encode(), False)
        await wait_until(lambda: not stub.connections)


async def test_a_stream_of_a_killed_upstream_is_cut(front: Front, stub: Stub) -> None:
    await front.edit(QUESTION, "Cusco")
    body = chat("team/m", OTHER, stream=True)
    async with open_reply(front.url, CHAT, body, [JSON, AUTHORIZATION]) as reply:
        stub.go_on.set()
        async for _ in reply.pieces():
            for connection in list(stub.connections):
                connection.transport.abort()
    assert (reply.status, reply.body, reply.is_whole) == (200, OPENAI[0].encode(), False)
    await check_edit_answers(front)


@pytest.mark.parametrize("n_steps", [0, 1, 3])
async def test_a_caller_that_hangs_up_ends_the_upstreams_request(
    front: Front, stub: Stub, n_steps: int
) -> None:
    body = chat("team/m", OTHER, stream=True)
    async with open_reply(front.url, CHAT, body, [JSON, AUTHORIZATION]) as reply:
        pieces = reply.pieces()
        for _ in range(n_steps):
            stub.go_on.set()
            await anext(pieces)
        await stub.is_paused.wait()
        before = time.monotonic()
    await asyncio.wait_for(stub.has_hung_up.wait(), LIMIT_S)
    print(f"the upstream's request ended {time.monotonic() - before:.3f} s after the caller's")
    await wait_until(lambda: not stub.connections)


async def test_a_caller_that_hangs_up_before_the_reply_begins_ends_the_upstreams_request(
    front: Front, stub: Stub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stub, "find", lambda _: SILENT)
    asking = asyncio.create_task(front.chat("team/m", OTHER))
    await stub.is_paused.wait()
    asking.cancel()
    await asyncio.wait_for(stub.has_hung_up.wait(), LIMIT_S)


async def test_many_streams_that_end_in_every_way_leave_nothing_open(
    front: Front, stub: Stub, monkeypatch: pytest.MonkeyPatch
) -> None:
    def count() -> int:
        return len(os.listdir("/proc/self/fd"))

    async def hang_up() -> None:
        async with open_reply(front.url, CHAT, chat("team/m", OTHER, stream=True), [JSON, AUTHORIZATION]):
            return

    await front.chat("team/not-http", OTHER)
    await wait_until(lambda: not stub.connections)
    n_files = count()
    for _ in range(10):
        await asyncio.gather(
            *(front.chat(f"team/{name}", OTHER) for name in JUNK), *(hang_up() for _ in range(5))
        )
    await wait_until(lambda: not stub.connections)
    await wait_until(lambda: count() <= n_files)
