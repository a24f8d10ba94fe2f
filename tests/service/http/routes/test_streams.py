"""Files that are streamed in: how many at a time, and for how long."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import httpx
import pytest

from service.http import body


async def test_one_backup_is_restored_at_a_time(http: httpx.AsyncClient) -> None:
    has_begun, may_end = asyncio.Event(), asyncio.Event()

    async def slow() -> AsyncIterator[bytes]:
        yield b"x"
        has_begun.set()
        await may_end.wait()

    first = asyncio.create_task(http.post("/admin/import", content=slow()))
    await has_begun.wait()
    second = await http.post("/admin/import", content=b"x")
    assert (second.status_code, second.json()["code"]) == (429, "too_many")
    may_end.set()
    assert (await first).status_code == 422
    assert (await http.post("/admin/import", content=b"x")).status_code == 422


async def test_a_stream_has_a_longest_time(http: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body, "STREAM_LIMIT_S", 0.1)

    async def trickle() -> AsyncIterator[bytes]:
        for _ in range(500):
            yield b"x"
            await asyncio.sleep(0.01)

    reply = await http.post("/admin/import", content=trickle())
    assert (reply.status_code, reply.json()["code"]) == (408, "too_slow")
