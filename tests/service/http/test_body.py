"""A body that comes slowly, or never to its end, costs its sender an answer and nobody anything else."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from errata.wire import Problem
from fastapi import FastAPI

from service.http import body

ASK = "/v1/answers"


async def test_a_body_that_trickles_is_given_up(
    http: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(body, "READ_LIMIT_S", 0.05)

    async def trickle() -> AsyncIterator[bytes]:
        for _ in range(500):
            yield b" "
            await asyncio.sleep(0.01)

    reply = await http.post(ASK, content=trickle())
    problem = Problem.model_validate_json(reply.content)
    assert (reply.status_code, problem.code) == (408, "too_slow")
    assert "0.05 s" in problem.detail
    assert reply.headers["connection"] == "close"


async def test_who_hangs_up_in_the_middle_is_no_error_of_the_service(
    app: FastAPI, caplog: pytest.LogCaptureFixture
) -> None:
    messages = iter([{"type": "http.request", "body": b"{", "more_body": True}, {"type": "http.disconnect"}])
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return next(messages)

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": ASK, "query_string": b"", "headers": []}
    with caplog.at_level(logging.WARNING):
        await app(scope, receive, send)
    assert sent[0]["status"] == 499
    assert caplog.records == []
