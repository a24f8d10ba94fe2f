"""The answer to any faulty body is a problem document that names the fault, and nothing has changed."""

import asyncio
import gzip
import json
import logging
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from errata.wire import Problem
from fastapi import FastAPI

from service.http import body
from tests.service.http.conftest import JSON, SHARED_LOOP
from tests.service.http.listening import watching

pytestmark = SHARED_LOOP

PERU = "What is the capital of Peru?"
ASK, BATCH = "/v1/answers", "/v1/answers/batch"
EDITS, REVERTS, ROLLBACKS = "/admin/edits", "/admin/reverts", "/admin/rollbacks"
EDIT = {"question": PERU, "answer": "Cusco", "model": "toy"}

# path, body, status, code, a word of the sentence
BODIES: list[tuple[str, Any, int, str, str]] = [
    (ASK, b'{"question": "x",}', 400, "malformed_json", "JSON"),
    (ASK, b"[" * 10_000, 400, "malformed_json", "JSON"),
    (ASK, b"[" * 100_000, 413, "too_large", "16,000 parts"),
    (ASK, b"]" * 100_000, 400, "malformed_json", "JSON"),
    (ASK, b'"Who?"', 422, "invalid_input", 'an object with named fields, such as {"question": "..."}'),
    (ASK, {"question": ""}, 422, "invalid_input", "question"),
    (ASK, {"question": "   "}, 422, "invalid_input", "question"),
    (ASK, {"question": "x" * 2001}, 413, "too_large", "question: has 2,001 characters; 2,000 is the most"),
    (ASK, {"question": "x" * 2001, "modle": "toy"}, 422, "invalid_input", "modle"),
    (ASK, {"question": PERU, "model": "nobody"}, 404, "unknown_model", "nobody"),
    (ASK, {"question": PERU, "model": "toy", "version": 99}, 404, "not_found", "99"),
    (ASK, {"question": PERU, "model": "toy", "context": "Peru is ..."}, 422, "invalid_input", "context"),
    (BATCH, {"questions": [PERU, PERU]}, 422, "invalid_input", "no question can be read"),
    (EDITS, {"edits": [EDIT, {"question": PERU, "model": "toy"}]}, 422, "invalid_input", "edits.1.answer"),
    (EDITS, {"edits": [{**EDIT, "answer": ""}]}, 422, "invalid_input", "answer"),
    (EDITS, {"edits": [EDIT, {**EDIT, "answer": "x" * 2500}]}, 413, "too_large", "edits.1.answer: has 2,500"),
    (EDITS, {"edits": [{**EDIT, "paraphrases": ["x" * 2001]}]}, 413, "too_large", "paraphrases.0: has 2,001"),
    (EDITS, {"edits": [{**EDIT, "question": "x" * 2001}] * 9}, 413, "too_large", "and 4 more; 2,000 is"),
    (EDITS, {"edits": [{**EDIT, "model": "nobody"}]}, 404, "unknown_model", "nobody"),
    (EDITS, {"edits": [{**EDIT, "answer": "unreachable"}]}, 422, "edit_refused", "cannot be said"),
    (EDITS, {"edits": [{**EDIT, "paraphrases": ["x"] * 21}]}, 422, "invalid_input", "paraphrases"),
    (EDITS, {"edits": [EDIT], "method": "magic"}, 422, "invalid_input", "method"),
    (EDITS, {"edits": [EDIT], "expected_version": 5}, 409, "stale_version", "5"),
    (REVERTS, {"version": 7}, 404, "not_found", "7"),
    (ROLLBACKS, {"to": 7}, 404, "not_found", "7"),
    (ROLLBACKS, {"to": 0}, 409, "nothing_to_do", "0"),
]


@pytest.mark.parametrize(("path", "content", "status", "code", "names"), BODIES)
async def test_a_bad_body(
    shared_http: httpx.AsyncClient, path: str, content: Any, status: int, code: str, names: str
) -> None:
    arguments = {"content": content} if isinstance(content, bytes) else {"json": content}
    problem = refused(await shared_http.post(path, headers=JSON, **arguments), status, code)
    assert names in problem.detail
    assert problem.instance in (None, path)
    await nothing_has_changed(shared_http)


@pytest.mark.parametrize("key", ["x" * 201, "two words", "caf\u00e9".encode()])
async def test_a_bad_idempotency_key(shared_http: httpx.AsyncClient, key: str | bytes) -> None:
    reply = await shared_http.post(EDITS, json={"edits": [EDIT]}, headers={"idempotency-key": key})
    assert "Idempotency-Key" in refused(reply, 422, "invalid_input").detail
    await nothing_has_changed(shared_http)


@pytest.mark.parametrize(
    ("path", "content", "names"),
    [
        (ASK, {"question": PERU, "candidates": ["x"] * 8_000}, "16,000"),
        (BATCH, {"questions": [{"question": PERU, "candidates": ["x"] * 32}] * 256}, "16,000"),
        (BATCH, {"questions": [{str(n): n for n in range(43)}] * 128}, "16,000"),
        (EDITS, {"edits": [{}] * 250_000}, "500,000"),
        (EDITS, {"edits": [EDIT | {"paraphrases": ["x"] * 30}] * 20_000}, "500,000"),
        (EDITS, {"edits": [{str(n): n for n in range(11)}] * 20_000}, "500,000"),
    ],
)
async def test_a_body_of_too_many_parts_is_told_how_many_it_may_have(
    shared_http: httpx.AsyncClient, path: str, content: Any, names: str
) -> None:
    problem = refused(await shared_http.post(path, json=content), 413, "too_large")
    parts = f"the body may have {names} parts (texts, fields, items, brackets)"
    assert problem.detail == f"{parts}: send less, in several requests"


UNKNOWN = {str(n): 1 for n in range(79_000)}
WRONG = {"question": "a", "candidates": [1] * 14}
HELD_UP = {
    "wrong candidates of a batch": (BATCH, {"questions": [WRONG] * 256}, 0.02),
    "one wrong item of a batch": (BATCH, {"questions": [{str(n): n for n in range(5_000)}]}, 0.02),
    "unknown fields": (ASK, UNKNOWN, 0.02),
    "unknown fields of a chat": ("/v1/chat/completions", UNKNOWN, 0.02),
    "bad messages": ("/v1/chat/completions", {"model": "toy", "messages": [1] * 4_000}, 0.02),
    "bad items of a batch": (BATCH, {"questions": [{str(n): n for n in range(15)}] * 256}, 0.02),
    "long items of a batch": (BATCH, {"questions": [{"question": "q" * 2_001}] * 256}, 0.02),
    "a long prompt": (
        "/v1/chat/completions",
        {"model": "toy", "messages": [{"role": "user", "content": "a " * 490_000}]},
        0.02,
    ),
    "unknown fields of an edit": (EDITS, {str(n): 1 for n in range(1_300_000)}, 0.1),
    "too many edits": (EDITS, {"edits": [{}] * 100_000}, 0.1),
    "bad edits": (EDITS, {"edits": [{}] * 20_000}, 0.1),
    "unknown fields of edits": (EDITS, {"edits": [{str(n): n for n in range(9)}] * 20_000}, 0.1),
}


@pytest.mark.parametrize("case", HELD_UP)
async def test_a_bad_body_does_not_hold_up_the_others(shared_http: httpx.AsyncClient, case: str) -> None:
    """The limit is higher for callers with a key, whose bodies may be large."""
    path, content, limit_s = HELD_UP[case]
    body = json.dumps(content).encode()

    async def pieces() -> AsyncIterator[bytes]:
        for start in range(0, len(body), 65_536):
            yield body[start : start + 65_536]

    for _ in range(3):  # a garbage collection may fall into one of them
        async with watching() as pauses_s:
            reply = await shared_http.post(path, content=pieces(), headers=JSON)
        assert reply.status_code in (200, 400, 413, 422)
        if max(pauses_s) < limit_s:
            break
    assert max(pauses_s) < limit_s


def refused(reply: httpx.Response, status: int, code: str) -> Problem:
    assert (reply.status_code, reply.json().get("code")) == (status, code), reply.text
    assert reply.headers["content-type"] == "application/problem+json"
    problem = Problem.model_validate_json(reply.content)
    assert problem.status == status
    assert len(problem.detail) > 10
    return problem


async def nothing_has_changed(shared_http: httpx.AsyncClient) -> None:
    assert (await shared_http.get("/admin/versions")).json() == {
        "versions": [],
        "head": 0,
        "edits_by_day": {},
    }


@pytest.mark.parametrize(
    ("path", "body", "errors"),
    [
        (ASK, {"question": ""}, [{"detail": "is empty", "pointer": "#/question"}]),
        (ASK, {"quest/ion~ ": 1, "question": PERU}, [
            {"detail": "is no field of this request", "pointer": "#/quest~1ion~0%20"},
        ]),
        (ASK, {}, [{"detail": "is missing", "pointer": "#/question"}]),
        (ASK, {"question": PERU, "top_k": 11, "explain": "yes"}, [
            {"detail": "has to be 10 or less", "pointer": "#/top_k"},
            {"detail": "has to be true or false", "pointer": "#/explain"},
        ]),
        (EDITS, {"edits": [EDIT, {"question": PERU}]}, [
            {"detail": "is missing", "pointer": "#/edits/1/answer"},
        ]),
        (EDITS, {"edits": [{**EDIT, "answer": "x" * 2_001}]}, [
            {"detail": "may have 2,000 characters", "pointer": "#/edits/0/answer"},
        ]),
        (EDITS, {"edits": [EDIT], "wait": "some"}, [{"detail": "has to be 'all' or 'none'", "pointer": "#/wait"}]),
    ],
)  # fmt: skip
async def test_each_wrong_field_is_pointed_at(
    shared_http: httpx.AsyncClient, path: str, body: dict[str, Any], errors: list[dict[str, str]]
) -> None:
    reply = await shared_http.post(path, json=body)
    assert reply.json()["errors"] == errors
    for error in errors:
        assert (
            error["detail"].partition(" characters")[0] in reply.json()["detail"] or reply.status_code == 413
        )


async def test_items_of_a_batch_and_parameters_are_pointed_at_too(shared_http: httpx.AsyncClient) -> None:
    reply = await shared_http.post(BATCH, json={"questions": [{"question": PERU, "model": "toy"}, {}]})
    assert reply.json()["results"][1]["problem"]["errors"] == [
        {"detail": "is missing", "pointer": "#/questions/1/question"}
    ]
    for path, detail in (
        (f"{ASK}?question={PERU}&version=-1", "has to be 0 or more"),
        (f"{ASK}?question={PERU}&version=one", "has to be a whole number"),
    ):
        reply = await shared_http.get(path)
        assert reply.json()["errors"] == [{"detail": detail, "parameter": "version"}]
        assert reply.json()["detail"] == f"version: {detail}"


async def test_a_body_that_trickles_is_given_up(
    shared_http: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(body, "READ_LIMIT_S", 0.05)

    async def trickle() -> AsyncIterator[bytes]:
        for _ in range(500):
            yield b" "
            await asyncio.sleep(0.01)

    reply = await shared_http.post(ASK, content=trickle(), headers=JSON)
    problem = Problem.model_validate_json(reply.content)
    assert (reply.status_code, problem.code) == (408, "too_slow")
    assert "0.05 s" in problem.detail
    assert reply.headers["connection"] == "close"


async def test_who_hangs_up_in_the_middle_is_no_error_of_the_service(
    shared_app: FastAPI, caplog: pytest.LogCaptureFixture
) -> None:
    messages = iter([{"type": "http.request", "body": b"{", "more_body": True}, {"type": "http.disconnect"}])
    replies: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return next(messages)

    async def send(message: Any) -> None:
        replies.append(message)

    headers = [(b"content-type", b"application/json")]
    scope = {"type": "http", "method": "POST", "path": ASK, "query_string": b"", "headers": headers}
    with caplog.at_level(logging.WARNING):
        await shared_app(scope, receive, send)
    assert replies[0]["status"] == 499
    assert caplog.records == []


async def test_a_packed_body_is_named_and_a_mark_of_utf_8_is_skipped(shared_http: httpx.AsyncClient) -> None:
    content = json.dumps({"question": PERU, "model": "toy"}).encode()
    packed = await shared_http.post(
        ASK, content=gzip.compress(content), headers=JSON | {"content-encoding": "gzip"}
    )
    problem = refused(packed, 415, "unsupported_media_type")
    assert "content-encoding gzip" in problem.detail
    reply = await shared_http.post(ASK, content=b"\xef\xbb\xbf" + content, headers=JSON)
    assert reply.status_code == 200
