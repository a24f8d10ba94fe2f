"""Every request has an id, in its answer, in the logs and in the audit; one that failed is a line in the log."""

import logging

import httpx
import pytest
from fastapi import FastAPI, Response

from service.http.middleware.edge import MetricsMiddleware


async def test_the_senders_own_id_is_kept_and_a_wild_one_is_not(http: httpx.AsyncClient) -> None:
    async def echo(id: str) -> str:
        return (await http.get("/healthz", headers={"x-request-id": id})).headers["x-request-id"]

    assert await echo("trace-42:a/b+c=") == "trace-42:a/b+c="
    for wild in ("", "a b", "x" * 129, "<script>"):
        assert await echo(wild) != wild


async def test_the_log_has_a_line_for_it_without_what_was_asked(
    http: httpx.AsyncClient, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "service.http.middleware.edge"):
        await http.get("/admin/versions/77?planted=secret-thing")
    (record,) = [record for record in caplog.records if record.name == "service.http.middleware.edge"]
    assert record.getMessage() == "GET /admin/versions/{version} 404"
    assert (record.__dict__["status"], record.__dict__["caller"]) == (404, "admin")
    assert "secret-thing" not in str(record.__dict__)
    assert "77" not in record.getMessage()


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
