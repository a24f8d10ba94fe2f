"""What opens nothing, and what it costs."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.service.http.conftest import KEY


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
