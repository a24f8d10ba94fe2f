"""Requests that no test in one process can make: bytes on a real socket, and headers that Ray itself reads."""

from __future__ import annotations

import httpx
import pytest
from errata import Errata
from errata.wire import Problem

from tests.service.toy import BREAKING

PERU = {"question": "What is the capital of Peru?"}


@pytest.mark.parametrize("path", ["/v1/answers", "/v1/answers/batch", "/admin/edits"])
def test_fifty_megabytes_are_refused(http: httpx.Client, path: str) -> None:
    headers = {"content-type": "application/json"}
    reply = http.post(path, content=b" " * 50_000_000, headers=headers)
    assert (reply.status_code, Problem.model_validate_json(reply.content).code) == (413, "too_large")


@pytest.mark.parametrize("limit", ["0.000001", "0", "-1", "soon"])
def test_a_caller_cannot_set_the_services_limits(http: httpx.Client, limit: str) -> None:
    headers = {"x-request-timeout-seconds": limit, "x-request-disconnect-disabled": "?1"}
    assert http.post("/v1/answers", json=PERU, headers=headers).status_code == 200


@pytest.mark.parametrize("request_headers", [{}, {"x-request-id": "mine"}])
def test_an_answer_has_one_id(http: httpx.Client, request_headers: dict[str, str]) -> None:
    """Ray adds one of its own."""
    ids = http.post("/v1/answers", json=PERU, headers=request_headers).headers.get_list("x-request-id")
    assert len(ids) == 1
    assert ids == list(request_headers.values()) or not request_headers


def test_a_question_that_breaks_the_model_breaks_nothing_else(errata: Errata, http: httpx.Client) -> None:
    results = errata.ask_many([PERU, {"question": BREAKING}, PERU]).results
    assert [result.answer.answer for result in results if result.answer] == ["Lima", "Lima"]
    assert results[1].problem is not None
    assert results[1].problem.code == "internal"
    assert http.post("/v1/answers", json={"question": BREAKING}).status_code == 500
    assert errata.ask(**PERU).answer == "Lima"
