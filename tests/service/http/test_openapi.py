"""The documentation lists the problems that a route can answer with, and none that it cannot."""

from __future__ import annotations

import re

import httpx
import pytest
from fastapi import FastAPI

from tests.service.http.conftest import SHARED_LOOP
from tests.service.test_errors import EXPECTED

pytestmark = SHARED_LOOP

READS_A_BODY = {400, 408, 413, 415, 422}
EXCEPTIONS = {
    "/v1/chat/completions": {422},  # in OpenAI's shape, where it is 400
    "/admin/import": {400, 413, 415},  # a file that is no JSON, and that may be of any length
    "/admin/graph/import": {415},  # a file that is no JSON
}


def statuses(app: FastAPI, verb: str, path: str) -> set[int]:
    return {int(status) for status in app.openapi()["paths"][path][verb]["responses"]}


async def test_whoever_reads_a_body_says_what_can_be_wrong_with_it(shared_app: FastAPI) -> None:
    for path, verbs in shared_app.openapi()["paths"].items():
        for verb, operation in verbs.items():
            if "requestBody" in operation:
                missing = READS_A_BODY - statuses(shared_app, verb, path)
                assert missing == EXCEPTIONS.get(path, set()), path


@pytest.mark.parametrize(
    ("verb", "path"),
    [
        ("post", "/v1/answers"),
        ("post", "/admin/edits"),
        ("post", "/admin/checks"),
        ("get", "/admin/checks"),
        ("get", "/admin/diff"),
        ("get", "/admin/versions"),
        ("get", "/v1/memory"),
    ],
)
async def test_whoever_may_be_too_busy_says_so(shared_app: FastAPI, verb: str, path: str) -> None:
    assert {429, 503} <= statuses(shared_app, verb, path)


async def test_no_problem_is_listed_that_the_service_does_not_have(shared_app: FastAPI) -> None:
    statuses_in_use = {
        status
        for path, verbs in shared_app.openapi()["paths"].items()
        for verb in verbs
        for status in statuses(shared_app, verb, path)
    }
    assert {status for status in statuses_in_use if status >= 400} <= set(EXPECTED.values())


async def test_the_documentation_is_read_without_the_internet(shared_http: httpx.AsyncClient) -> None:
    page = await shared_http.get("/", follow_redirects=True)
    assert page.url.path == "/docs"
    parts = re.findall(r'(?:src|href)="([^"]+)"', page.text)
    assert len(parts) >= 2
    for part in parts:
        assert part.startswith("/"), "it lies here"
        assert (await shared_http.get(part)).status_code == 200
