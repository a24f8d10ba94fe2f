"""Who may ask and who may change things, route by route."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from service.config import Settings
from service.http.application import application
from service.http.models import Models
from tests.service.http.conftest import KEY, InProcess

OPEN = {
    *("/v1/answers", "/v1/answers/batch", "/v1/models", "/v1/memory", "/v1/entities", "/v1/entities/{id}"),
    *("/healthz", "/readyz", "/metrics"),
}


def addresses(app: FastAPI) -> list[tuple[str, str]]:
    """Every path and verb that the documentation lists."""
    return [(path, verb) for path, verbs in app.openapi()["paths"].items() for verb in verbs]


async def test_every_admin_route_needs_a_key_and_says_how_to_send_it(
    app: FastAPI, stranger: httpx.AsyncClient
) -> None:
    admin = [(path, verb) for path, verb in addresses(app) if path not in OPEN]
    assert len(admin) >= 10
    for path, verb in admin:
        reply = await stranger.request(verb, path.replace("{version}", "1"), content=b"{")
        assert (reply.status_code, reply.json()["code"]) == (401, "unauthorized"), path
        assert reply.headers["www-authenticate"].startswith("Bearer")


@pytest.mark.parametrize(
    "header",
    [
        "Bearer wrong-key-but-long-enough",
        "Bearer ",
        "Bearer",
        KEY,
        f"Basic {KEY}",
        f"Bearer {KEY}x",
        "Bearer \u00e9".encode(),
    ],
)
async def test_a_wrong_key_opens_nothing(stranger: httpx.AsyncClient, header: Any) -> None:
    reply = await stranger.get("/admin/versions", headers={"authorization": header})
    assert reply.status_code == 401
    assert KEY not in reply.text


async def test_the_right_key_says_whose_it_is(http: httpx.AsyncClient) -> None:
    assert (await http.get("/admin/keys/self")).json() == {
        "name": "admin",
        "scopes": ["ask", "read", "edit", "admin"],
    }


async def test_a_stranger_with_a_large_body_costs_nothing(stranger: httpx.AsyncClient) -> None:
    read = 0

    async def body() -> Any:
        nonlocal read
        read += 1
        yield b" " * 1_000

    assert (await stranger.post("/admin/edits", content=body())).status_code == 401
    assert read <= 1


@pytest.mark.parametrize(("host", "open_to_all"), [("127.0.0.1", True), ("::1", True), ("0.0.0.0", False)])
async def test_asking_is_open_on_this_machine_alone(chosen: Settings, host: str, open_to_all: bool) -> None:
    elsewhere = application(chosen.model_copy(update={"host": host}), Models({}, 1), InProcess(None))
    transport = httpx.ASGITransport(app=elsewhere)
    async with httpx.AsyncClient(transport=transport, base_url="http://errata") as client:
        for path in ("/v1/answers", "/v1/answers/batch"):
            said = (await client.post(path, content=b"{")).json()["code"]
            assert said == ("malformed_json" if open_to_all else "unauthorized")
        assert (await client.get("/healthz")).status_code == 200
