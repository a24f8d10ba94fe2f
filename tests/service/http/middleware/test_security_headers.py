"""The security headers of every answer."""

from __future__ import annotations

import httpx
import pytest

from service.http.middleware.edge import strip_host
from tests.service.http.conftest import SHARED_LOOP

pytestmark = SHARED_LOOP


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
