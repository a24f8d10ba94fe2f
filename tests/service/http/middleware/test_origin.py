"""A page of another site reaches no route here, under any name; programs, and this service's own pages, do."""

from __future__ import annotations

import httpx
import pytest

from service.config import Settings
from service.http.app import build_app
from tests.service.http.conftest import SHARED_LOOP, client_of, local_editor, local_router

pytestmark = SHARED_LOOP

ASK = "/v1/answers"
LINK = f"{ASK}?question=Who%3F&model=toy"
PERU = {"question": "What is the capital of Peru?", "model": "toy"}
NAVIGATION = {"sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8000", "127.0.0.1.evil.example", "[::2]", "a:b:c", "["]
)
@pytest.mark.parametrize("path", ["/v1/memory", "/healthz", "/metrics", "/docs", "/nowhere"])
async def test_a_foreign_name_is_refused(shared_http: httpx.AsyncClient, host: str, path: str) -> None:
    reply = await shared_http.get(path, headers={"host": host})
    assert (reply.status_code, reply.json()["code"]) == (403, "forbidden")
    assert "127.0.0.1, ::1, localhost" in reply.json()["detail"]
    assert reply.headers["x-content-type-options"] == "nosniff"


async def test_a_name_that_is_configured_is_right_and_so_are_its_pages(shared_config: Settings) -> None:
    config = shared_config.model_copy(update={"allowed_hosts": ("errata.example.org",)})
    app = build_app(config, local_router({}), local_editor(None))
    async with client_of(app) as client:
        for headers in (
            {"host": "errata.example.org"},
            {"origin": "https://errata.example.org"},  # of a proxy that calls the service by another name
            {"origin": "https://errata.example.org", "sec-fetch-site": "cross-site"},
        ):
            assert (await client.get("/healthz", headers=headers)).status_code == 200
        assert (await client.get("/healthz", headers={"host": "other.example.org"})).status_code == 403
    await app.state.access.aclose()


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "http://127.0.0.1:3000"},
        {"origin": "null"},
        {"origin": "https://evil.example", "sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors", "sec-fetch-dest": "image"},
        {"sec-fetch-site": "same-site", "sec-fetch-mode": "no-cors", "sec-fetch-dest": "empty"},
        {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe"},
    ],
)
async def test_a_page_of_another_site_is_refused(
    shared_http: httpx.AsyncClient, headers: dict[str, str]
) -> None:
    for reply in (
        await shared_http.post(ASK, json=PERU, headers=headers),
        await shared_http.get(LINK, headers=headers),
    ):
        assert (reply.status_code, reply.json()["code"]) == (403, "forbidden")


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://127.0.0.1"},
        {"origin": "http://127.0.0.1", "sec-fetch-site": "same-origin"},
        {"sec-fetch-site": "none", **NAVIGATION},
        {"sec-fetch-site": "cross-site", **NAVIGATION},  # a link in a report
        {},
    ],
)
async def test_an_own_page_a_program_and_who_follows_a_link_are_let_in(
    shared_http: httpx.AsyncClient, headers: dict[str, str]
) -> None:
    assert (await shared_http.get(LINK, headers=headers)).status_code == 200


async def test_a_page_of_an_allowed_origin_may_call(shared_config: Settings) -> None:
    config = shared_config.model_copy(update={"allowed_origins": ("https://help.example",)})
    app = build_app(config, local_router({}), local_editor(None))
    page = {"origin": "https://help.example", "sec-fetch-site": "cross-site", "sec-fetch-mode": "cors"}
    preflight = {"access-control-request-method": "POST", "access-control-request-headers": "content-type"}
    async with client_of(app) as client:
        question = await client.options(ASK, headers=page | preflight)
        assert (question.status_code, question.headers["access-control-allow-origin"]) == (
            200,
            page["origin"],
        )
        assert "content-type" in question.headers["access-control-allow-headers"]
        reply = await client.get("/healthz", headers=page)
        assert (reply.status_code, reply.headers["access-control-allow-origin"]) == (200, page["origin"])
        foreign = page | {"origin": "https://evil.example"}
        assert (await client.options(ASK, headers=foreign | preflight)).status_code == 400
        assert (await client.get("/healthz", headers=foreign)).status_code == 403
    await app.state.access.aclose()
