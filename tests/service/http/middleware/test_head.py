"""HEAD is answered wherever GET is, with the same headers and no body, and long pages are compressed."""

from __future__ import annotations

import httpx
import pytest

from tests.service.http.conftest import SHARED_LOOP

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
