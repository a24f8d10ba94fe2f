"""A request that failed is a line in the log, and a probe that found the service not ready is none."""

from __future__ import annotations

import logging

import httpx
import pytest
from fastapi import FastAPI, Response

from service.http.middleware.edge import MetricsMiddleware


@pytest.mark.parametrize(
    ("route", "levels"),
    [("/v1/answers", [logging.WARNING]), ("/readyz", [logging.INFO]), ("/healthz", [logging.INFO])],
)
async def test_only_what_failed_is_a_warning(
    route: str, levels: list[int], caplog: pytest.LogCaptureFixture
) -> None:
    app = FastAPI()
    app.add_middleware(MetricsMiddleware)
    app.add_api_route(route, lambda: Response(status_code=503))
    with caplog.at_level(logging.INFO, "service"):
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://x") as http:
            assert (await http.get(route)).status_code == 503
    assert [record.levelno for record in caplog.records if record.name.startswith("service.")] == levels
