"""Any reply that is not an answer becomes one error of the tree."""

from __future__ import annotations

import pickle
from typing import Any

import httpx
import pytest
from errata import errors
from errata.calls import Calls
from errata.problems import to_error
from errata.request import read_reply
from errata.wire import PROBLEMS

WHERE = httpx.Request("POST", "http://errata.test/v1/answers?secret=1")


def response(
    status: int, content: str | bytes = b"", kind: str = "text/plain", **headers: str
) -> httpx.Response:
    return httpx.Response(status, content=content, headers={"content-type": kind, **headers}, request=WHERE)


def problem(status: int, code: str, **extras: Any) -> httpx.Response:
    document = {"title": "t", "status": status, "code": code, "detail": "what and why", **extras}
    return httpx.Response(status, json=document, request=WHERE)


@pytest.mark.parametrize("code", PROBLEMS)
def test_every_code_of_the_service_has_its_class_here(code: str) -> None:
    error = to_error(problem(PROBLEMS[code].status, code))
    name = "".join(map(str.capitalize, code.split("_")))
    shared_classes = {
        "InvalidInput": "Malformed",
        "MalformedJson": "Malformed",
        "UpstreamSlow": "UpstreamFailed",
        "Internal": "ServerError",
        "LedgerCorrupt": "ServerError",
    }
    assert type(error).__name__ == shared_classes.get(name, name)
    assert (error.status, error.code, str(error)) == (PROBLEMS[code].status, code, "what and why")


@pytest.mark.parametrize(
    ("status", "family"),
    [
        (400, errors.Malformed),
        (401, errors.Denied),
        (403, errors.Denied),
        (404, errors.Missing),
        (409, errors.Conflict),
        (410, errors.Missing),
        (413, errors.Malformed),
        (422, errors.Malformed),
        (429, errors.TooMany),
        (503, errors.Unavailable),
        (418, errors.ServerError),
        (500, errors.ServerError),
    ],
)
def test_a_code_invented_later_falls_back_on_its_status(status: int, family: type[errors.Refused]) -> None:
    error = to_error(problem(status, "invented_later"))
    assert isinstance(error, family)
    assert error.code == "invented_later"


@pytest.mark.parametrize(
    ("status", "kind"), [(408, errors.TimedOut), (502, errors.Unreachable), (504, errors.TimedOut)]
)
def test_a_proxy_that_waited_in_vain_is_no_refusal_of_the_service(
    status: int, kind: type[errors.Unreachable]
) -> None:
    error = to_error(response(status, "<html><h1>Gateway trouble</h1></html>"))
    assert (type(error), str(error)) == (
        kind,
        f"http://errata.test/v1/answers answered {status}: Gateway trouble",
    )
    assert type(to_error(problem(408, "too_slow"))) is errors.TooSlow


@pytest.mark.parametrize("body", [b"\xff\xfe", b"[1]", b'{"detail": [1]}', b"{", b"null"])
def test_no_body_is_strange_enough_to_hide_the_status(body: bytes) -> None:
    assert to_error(response(503, body, "application/json")).status == 503


def test_a_redirect_is_not_followed_with_a_key_in_hand() -> None:
    with pytest.raises(errors.NotErrata, match="sends us to https://elsewhere"):
        read_reply(Calls().ask("q"), response(307, location="https://elsewhere"))


@pytest.mark.parametrize("body", ["<html>hello</html>", '{"status": "ok"}', "", "[]"])
def test_a_stranger_who_says_200_is_not_taken_for_errata(body: str) -> None:
    with pytest.raises(errors.NotErrata, match="not as Errata does"):
        read_reply(Calls().ask("q"), response(200, body))


def test_an_error_survives_pickling_on_its_way_between_processes() -> None:
    error = pickle.loads(pickle.dumps(to_error(problem(409, "stale_version", current=7))))
    assert isinstance(error, errors.StaleVersion)
    assert (error.current, str(error)) == (7, "what and why")
