"""Whoever looks at the figures holds up nobody who asks."""

from __future__ import annotations

import asyncio
import threading

import httpx
import pytest
from fastapi import FastAPI

from service.http import health
from service.http.models import Models
from tests.service.http.conftest import InProcess


async def test_the_page_of_figures_is_made_beside_the_questions() -> None:
    made_by = []

    def page() -> bytes:
        made_by.append(threading.current_thread())
        return b"errata_answers_total 1.0\n"

    app = FastAPI()
    app.include_router(health.routes(Models({}, 1), InProcess(None), page, 1))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://errata") as client:
        assert (await client.get("/metrics")).content == b"errata_answers_total 1.0\n"
    assert made_by != [threading.main_thread()]


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
async def test_who_reads_nothing_but_the_status_may_ask_for_the_head(
    stranger: httpx.AsyncClient, path: str
) -> None:
    reply = await stranger.head(path)
    assert (reply.status_code, reply.content) == (200, b"")


async def test_of_many_who_look_at_once_one_makes_the_page() -> None:
    made, go = 0, threading.Event()

    def page() -> bytes:
        nonlocal made
        made += 1
        go.wait(5)
        return b"figures"

    app = FastAPI()
    app.include_router(health.routes(Models({}, 1), InProcess(None), page, 1))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://errata") as client:
        looks = [asyncio.create_task(client.get("/metrics")) for _ in range(10)]
        await asyncio.sleep(0.2)
        go.set()
        assert {(await look).content for look in looks} == {b"figures"}
        assert made == 1
        await client.get("/metrics")
        assert made == 2, "and the next one sees what is new"
