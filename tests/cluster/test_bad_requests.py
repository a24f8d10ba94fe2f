"""Requests that no test in one process can make: bytes on a real socket, and headers that Ray itself reads."""

from __future__ import annotations

import socket

import httpx
import pytest
from errata import Errata
from errata.wire import Problem

from tests.cluster.running import Service
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


@pytest.mark.parametrize(
    "payload",
    [
        b"\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"\x16\x03\x01" + b"\0" * 100,
        b"POST /v1/answers HTTP/1.1\r\nContent-Length: x\r\n\r\n",
    ],
)
def test_bytes_that_are_not_http_disturb_nobody(service: Service, errata: Errata, payload: bytes) -> None:
    with socket.create_connection(("127.0.0.1", service.port), timeout=60) as stranger:
        stranger.sendall(payload)
        stranger.shutdown(socket.SHUT_WR)
        assert b" 200 " not in stranger.recv(1000)
    assert errata.ask(**PERU).answer == "Lima"


def test_who_hangs_up_in_the_middle_leaves_no_trace(service: Service, errata: Errata) -> None:
    head = errata.log().head
    request = (
        b"POST /admin/edits HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %b\r\n"
        b"Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"
    )
    with socket.create_connection(("127.0.0.1", service.port), timeout=60) as stranger:
        stranger.sendall(request % service.key.encode())
    assert errata.ask(**PERU).answer == "Lima"
    assert errata.log().head == head
