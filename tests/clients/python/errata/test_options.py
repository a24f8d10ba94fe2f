"""Settings of a client: by its environment, by its owner, and for one call."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from errata import Errata, Retry

CARD = {"object": "list", "data": []}


class Recorder:
    """A service that lists no models. requests: what it was request."""

    def __init__(self) -> None:
        self.requests: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        return httpx.Response(200, json=CARD, headers={"x-request-id": "r-1"})

    @property
    def last(self) -> httpx.Request:
        return self.requests[-1]


@pytest.fixture
def service() -> Recorder:
    return Recorder()


def test_the_address_and_the_key_come_from_the_environment(
    service: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ERRATA_URL", "http://elsewhere:81/api")
    monkeypatch.setenv("ERRATA_KEY", "from-outside")
    with Errata(transport=httpx.MockTransport(service)) as client:
        client.models()
    assert str(service.last.url) == "http://elsewhere:81/api/v1/models"
    assert service.last.headers["authorization"] == "Bearer from-outside"
    with Errata("http://here", key="own", transport=httpx.MockTransport(service)) as client:
        client.models()
    assert (service.last.url.host, service.last.headers["authorization"]) == ("here", "Bearer own")


def test_one_call_may_have_other_options(service: Recorder) -> None:
    with Errata(headers={"x-team": "maps"}, timeout_s=7, transport=httpx.MockTransport(service)) as client:
        hasty = client.with_options(timeout_s=0.5, headers={"x-trace": "1"}, retry=Retry(times=0))
        hasty.models()
        request = service.last
        assert (request.headers["x-team"], request.headers["x-trace"]) == ("maps", "1")
        assert request.extensions["timeout"]["read"] == 0.5
        hasty.close()
        client.models()
        assert "x-trace" not in service.last.headers
        assert service.last.extensions["timeout"]["read"] == 7


def test_a_client_of_httpx_is_used_and_stays_open(service: Recorder) -> None:
    with httpx.Client(transport=httpx.MockTransport(service)) as http:
        with Errata(http=http) as client:
            client.models()
        assert len(service.requests) == 1
        assert not http.is_closed


def test_a_reply_tells_its_request_id(service: Recorder) -> None:
    with Errata(transport=httpx.MockTransport(service)) as client:
        reply: Any = client.send(client.calls.models())
    assert (reply.request_id, reply.headers["content-type"]) == ("r-1", "application/json")
