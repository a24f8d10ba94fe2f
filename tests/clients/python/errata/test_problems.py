"""Any reply that is not an answer becomes one error of the tree."""

from __future__ import annotations

import pickle
from typing import Any

import httpx
import pytest
from errata import errors, wire
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
        "Internal": "Faulty",
        "LedgerCorrupt": "Faulty",
    }
    assert type(error).__name__ == shared_classes.get(name, name)
    assert (error.status, error.code, str(error)) == (PROBLEMS[code].status, code, "what and why")


def test_a_stale_writer_learns_the_current_version() -> None:
    error = to_error(problem(409, "stale_version", current=7, expected=5))
    assert isinstance(error, errors.StaleVersion)
    assert error.current == 7


def test_a_refused_edit_says_why_in_a_word() -> None:
    error = to_error(problem(422, "edit_refused", reason="no_active_slot"))
    assert isinstance(error, errors.EditRefused)
    assert error.reason == "no_active_slot"


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
        (418, errors.Faulty),
        (500, errors.Faulty),
    ],
)
def test_a_code_invented_later_falls_back_on_its_status(status: int, family: type[errors.Refused]) -> None:
    error = to_error(problem(status, "invented_later"))
    assert isinstance(error, family)
    assert error.code == "invented_later"


@pytest.mark.parametrize(
    ("status", "text", "kind", "code"),
    [
        (404, "Path '/v1/answers' not found.", errors.NotFound, "not_found"),
        (500, "Internal Server Error", errors.Faulty, "internal"),
        (503, "<h1>Request dropped due to backpressure</h1>", errors.NotReady, "not_ready"),
        (413, "", errors.TooLarge, "too_large"),
    ],
)
def test_plain_text_of_a_proxy_becomes_the_same_kind_of_error(
    status: int, text: str, kind: type[errors.Refused], code: str
) -> None:
    error = to_error(response(status, text))
    assert isinstance(error, errors.Refused)
    assert (type(error), error.status, error.code) == (kind, status, code)
    assert str(error).startswith(f"http://errata.test/v1/answers answered {status}: ")
    assert "<" not in str(error)


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


def test_the_words_of_a_proxy_are_kept_but_not_all_of_a_page() -> None:
    assert "backpressure" in str(to_error(response(503, "dropped: backpressure")))
    assert len(str(to_error(response(503, "x" * 10_000)))) < 400


def test_a_detail_that_is_no_problem_document_is_read() -> None:
    error = to_error(httpx.Response(404, json={"detail": "Not Found"}, request=WHERE))
    assert str(error).endswith("answered 404: Not Found")


@pytest.mark.parametrize("body", [b"\xff\xfe", b"[1]", b'{"detail": [1]}', b"{", b"null"])
def test_no_body_is_strange_enough_to_hide_the_status(body: bytes) -> None:
    assert to_error(response(503, body, "application/json")).status == 503


@pytest.mark.parametrize(
    ("header", "expected"), [("3", 3.0), ("0", 0.0), ("soon", None), ("-1", None), ("", None)]
)
def test_when_to_come_back_is_read_in_seconds(header: str, expected: float | None) -> None:
    assert to_error(response(503, **{"retry-after": header})).retry_after_s == expected


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


def test_a_problem_without_detail_is_still_a_sentence() -> None:
    assert str(errors.Refused(wire.Problem(title="Gone", status=410, code="x", detail=""))) == "Gone"
