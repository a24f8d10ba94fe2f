"""What the middleware adds to replies and refuses: HEAD, pages of other sites, headers of security."""

import httpx
import pytest

from service.config import Settings
from service.http.app import build_app
from service.http.middleware.edge import strip_host
from tests.service.http.conftest import SHARED_LOOP, client_of, local_editor, local_router

pytestmark = SHARED_LOOP


@pytest.mark.parametrize(
    "path", ["/docs", "/v1/models", "/v1/models/toy", "/healthz", "/readyz", "/openapi.json"]
)
async def test_head_has_the_status_and_length_of_get_and_no_body(
    shared_http: httpx.AsyncClient, path: str
) -> None:
    headers = {"accept-encoding": "identity"}
    head, get = [await shared_http.request(verb, path, headers=headers) for verb in ("HEAD", "GET")]
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-type"] == get.headers["content-type"]


async def test_a_method_that_a_path_has_not_names_head_beside_get(shared_http: httpx.AsyncClient) -> None:
    reply = await shared_http.put("/v1/answers", json={})
    assert (reply.status_code, reply.headers["allow"]) == (405, "GET, HEAD, POST")
    assert reply.json()["type"] == "urn:errata:problem:method_not_allowed"


async def test_a_long_page_is_compressed_for_who_accepts_that(shared_http: httpx.AsyncClient) -> None:
    plain = await shared_http.get("/openapi.json", headers={"accept-encoding": "identity"})
    packed = await shared_http.get("/openapi.json", headers={"accept-encoding": "gzip"})
    assert "content-encoding" not in plain.headers
    assert packed.headers["content-encoding"] == "gzip"
    assert int(packed.headers["content-length"]) < len(plain.content) / 4
    assert packed.json() == plain.json()
    short = await shared_http.get("/healthz", headers={"accept-encoding": "gzip"})
    assert "content-encoding" not in short.headers


@pytest.mark.parametrize(
    ("codings", "encoding"),
    [
        ("gzip;q=0", None),
        ("gzip; q=0.000, identity", None),
        ("gzip;q=0.5", "gzip"),
        ("br, gzip;q=1", "gzip"),
        ("*;q=0", None),
        ("gzip, *;q=0", "gzip"),
    ],
)
async def test_a_weight_of_zero_refuses_compression(
    shared_http: httpx.AsyncClient, codings: str, encoding: str | None
) -> None:
    reply = await shared_http.get("/openapi.json", headers={"accept-encoding": codings})
    assert reply.headers.get("content-encoding") == encoding


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


@pytest.mark.parametrize("path", ["/healthz", "/v1/models", "/admin/versions", "/nowhere", "/docs"])
async def test_every_answer_tells_a_browser_to_trust_nothing(
    shared_http: httpx.AsyncClient, path: str
) -> None:
    headers = (await shared_http.get(path)).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert ("script-src" in headers["content-security-policy"]) == (path == "/docs")
    assert "strict-transport-security" not in headers


async def test_nothing_that_a_key_opens_is_kept_by_a_cache(shared_http: httpx.AsyncClient) -> None:
    for path in ("/admin/versions", "/v1/memory", "/admin/keys"):
        assert (await shared_http.get(path)).headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    ("location", "expected"),
    [
        ("/console/ask?question=http://x/y", "/console/ask?question=http://x/y"),
        ("http://evil.example/console?next=1", "/console?next=1"),
        ("https://evil.example?x=1", "/?x=1"),
        ("//evil.example/console", "/evil.example/console"),
    ],
)
async def test_a_redirect_keeps_its_path_and_loses_its_host(location: str, expected: str) -> None:
    assert strip_host(location) == expected
