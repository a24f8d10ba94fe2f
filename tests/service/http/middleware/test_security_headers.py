"""The security headers of every answer."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from service.config import Settings
from service.http.app import build_app
from tests.service.http.conftest import SHARED_LOOP, client_of, local_editor, local_router

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


async def test_over_tls_browsers_are_told_to_stay_there(config: Settings, tmp_path: Any) -> None:
    tls = {"tls_cert": tmp_path / "cert.pem", "tls_key": tmp_path / "key.pem"}
    app = build_app(config.model_copy(update=tls), local_router({}), local_editor(None))
    async with client_of(app) as client:
        assert "max-age" in (await client.get("/healthz")).headers["strict-transport-security"]
    await app.state.access.aclose()
