"""Files that are streamed in: how many at a time, and for how long."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import httpx
import pytest

from service.config import Settings
from service.editing.deployment import Editor
from service.http import body
from service.http.app import build_app
from tests.service.http.conftest import ADMIN, client_of, local_editor, local_router


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


async def test_a_backup_has_a_largest_size(config: Settings, editor: Editor) -> None:
    app = build_app(config.model_copy(update={"upload_disk_mb": 1}), local_router({}), local_editor(editor))
    async with client_of(app) as client:
        smaller = await client.post("/admin/import", content=bytes(1_000_000), headers=ADMIN)
        larger = await client.post("/admin/import", content=bytes(1_000_001), headers=ADMIN)
    await app.state.access.aclose()
    assert (smaller.status_code, smaller.json()["code"]) == (422, "invalid_input")
    assert (larger.status_code, larger.json()["limit"]) == (413, 1_000_000)


async def test_a_stream_has_a_longest_time(http: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body, "STREAM_LIMIT_S", 0.1)

    async def trickle() -> AsyncIterator[bytes]:
        for _ in range(500):
            yield b"x"
            await asyncio.sleep(0.01)

    reply = await http.post("/admin/import", content=trickle())
    assert (reply.status_code, reply.json()["code"]) == (408, "too_slow")
