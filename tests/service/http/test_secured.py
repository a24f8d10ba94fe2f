"""What browsers are told, and how often one caller may call."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from prometheus_client import REGISTRY

from service.config import Settings
from service.editing.deployment import Editor
from service.http.application import application
from service.http.models import Models
from tests.service.http.conftest import KEY, InProcess

ADMIN = {"authorization": f"Bearer {KEY}"}


@asynccontextmanager
async def serving(
    settings: Settings, editor: Editor, **more: Any
) -> AsyncIterator[tuple[FastAPI, httpx.AsyncClient]]:
    app = application(settings.model_copy(update=more), Models({}, 1), InProcess(editor))
    transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://errata") as client:
        yield app, client
    await app.state.access.aclose()


@pytest.mark.parametrize("path", ["/healthz", "/v1/models", "/admin/versions", "/nowhere", "/docs"])
async def test_every_answer_tells_a_browser_to_trust_nothing(http: httpx.AsyncClient, path: str) -> None:
    headers = (await http.get(path)).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert ("script-src" in headers["content-security-policy"]) == (path == "/docs")
    assert "strict-transport-security" not in headers


async def test_nothing_that_a_key_opens_is_kept_by_a_cache(http: httpx.AsyncClient) -> None:
    for path in ("/admin/versions", "/v1/memory", "/admin/keys"):
        assert (await http.get(path)).headers["cache-control"] == "no-store"


async def test_over_tls_browsers_are_told_to_stay_there(
    chosen: Settings, editor: Editor, tmp_path: Any
) -> None:
    tls = {"tls_cert": tmp_path / "cert.pem", "tls_key": tmp_path / "key.pem"}
    async with serving(chosen, editor, **tls) as (_, client):
        assert "max-age" in (await client.get("/healthz")).headers["strict-transport-security"]


async def test_a_key_that_calls_too_often_is_told_when_to_come_back(chosen: Settings, editor: Editor) -> None:
    async with serving(chosen, editor, rate_per_key="3/minute") as (_, client):
        replies = [await client.get("/admin/versions", headers=ADMIN) for _ in range(4)]
        assert [reply.status_code for reply in replies] == [200, 200, 200, 429]
        assert replies[-1].json()["code"] == "too_many"
        assert 1 <= int(replies[-1].headers["retry-after"]) <= 60
        assert (await client.get("/healthz")).status_code == 200


async def test_guessing_keys_is_slowed_by_address_and_nobody_with_a_key_suffers(
    chosen: Settings, editor: Editor
) -> None:
    async with serving(chosen, editor, rate_per_address="2/minute") as (_, client):
        guesses = [
            (await client.get("/admin/versions", headers={"authorization": f"Bearer guess-{n}"})).status_code
            for n in range(4)
        ]
        assert guesses == [401, 401, 429, 429]
        assert (await client.get("/admin/versions", headers=ADMIN)).status_code == 200


async def test_the_address_is_the_one_a_trusted_proxy_names_and_no_other(
    chosen: Settings, editor: Editor
) -> None:
    async def asked(client: httpx.AsyncClient, address: str) -> int:
        return (await client.get("/v1/memory", headers={"x-forwarded-for": address})).status_code

    async with serving(chosen, editor, rate_per_address="1/minute", proxies=("127.0.0.1/32",)) as (_, client):
        assert [await asked(client, f"192.0.2.{n}") for n in (1, 2, 1)] == [200, 200, 429]
    async with serving(chosen, editor, rate_per_address="1/hour") as (_, client):
        assert [await asked(client, f"192.0.2.{n}") for n in (3, 4)] == [200, 429]


async def test_one_caller_has_so_many_calls_under_way_and_no_more(chosen: Settings, editor: Editor) -> None:
    async with serving(chosen, editor, max_concurrent=2) as (_, client):
        calls = (client.get("/admin/versions", headers=ADMIN) for _ in range(6))
        codes = [reply.status_code for reply in await asyncio.gather(*calls)]
        assert 200 in codes
        assert 429 in codes
        assert (await client.get("/admin/versions", headers=ADMIN)).status_code == 200


async def test_what_nobody_foresaw_is_answered_measured_and_noted_as_everything_else_is(
    http: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def defect(*_: Any, **__: Any) -> Any:
        raise ZeroDivisionError("a defect")

    def counted() -> float:
        found = REGISTRY.get_sample_value(
            "errata_http_requests_total", {"route": "/admin/edits", "method": "POST", "status": "500"}
        )
        return found or 0.0

    monkeypatch.setattr(InProcess, "call", defect)
    before = counted()
    wrong = {"edits": [{"question": "who?", "answer": "anna", "model": "toy"}]}
    reply = await http.post("/admin/edits", json=wrong)
    assert (reply.status_code, reply.json()["code"]) == (500, "internal")
    assert "a defect" not in reply.text
    assert reply.headers["x-request-id"]
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert counted() == before + 1
    (noted,) = (await http.get("/admin/audit?path=/admin/edits")).json()["entries"]
    assert (noted["name"], noted["status"], noted["code"]) == ("admin", 500, "internal")
