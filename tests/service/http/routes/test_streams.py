"""Answers, at once and in a stream; and documents where no system reads them."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import openai
import pytest
from fastapi import FastAPI

from service.http import body
from tests.service.editing.requests import PERU, item
from tests.service.http.listening import listening
from tests.service.toy import BREAKING_WORD


def content(reply: httpx.Response) -> dict[str, Any]:
    """Without what differs each time."""
    assert reply.status_code == 200
    body: dict[str, Any] = reply.json()
    return {name: value for name, value in body.items() if name != "timings"}


async def test_openais_client_follows_an_edit_and_sees_what_it_rests_on(
    app: FastAPI, http: httpx.AsyncClient
) -> None:
    version = (await http.post("/admin/edits", json={"edits": [item(PERU, "Cusco")]})).json()["version"]
    async with (
        listening(app) as url,
        openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client,
    ):

        async def ask(**options: Any) -> Any:
            completion = await client.chat.completions.create(
                model="toy", messages=[{"role": "user", "content": PERU}], extra_body={"errata": options}
            )
            return completion.model_extra["errata"] if completion.model_extra else None

        now, before = await ask(min_version=version), await ask(version=0, explain=True, top_k=2)
    assert (now["answer"], now["version"], len(now["edits"])) == ("Cusco", version, 1)
    assert (before["answer"], before["version"], before["explanation"]) == ("Lima", 0, {"known": True})
    assert len(before["alternatives"]) == 1


async def stream(
    http: httpx.AsyncClient, question: str, **options: object
) -> list[tuple[str, dict[str, Any]]]:
    """Return the events of a stream, each with its data."""
    reply = await http.post(
        "/v1/answers", json={"question": question, "model": "toy", "stream": True, **options}
    )
    assert reply.headers["content-type"].startswith("text/event-stream")
    blocks = [block.split("\n") for block in reply.text.strip().split("\n\n")]
    return [
        (event.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for event, data in blocks
    ]


async def test_a_stream_has_the_answer_as_it_is_made_and_then_whole(http: httpx.AsyncClient) -> None:
    *deltas, (kind, answer), end = await stream(http, "Who wrote Hamlet?")
    assert deltas == [
        ("delta", {"text": "William", "progress": None}),
        ("delta", {"text": " Shakespeare", "progress": None}),
    ]
    assert (kind, answer["answer"], answer["version"]) == ("answer", "William Shakespeare", 0)
    assert set(answer["timings"]) == {"queue_ms", "graph_ms", "model_ms", "total_ms"}
    assert end == ("done", {})


async def test_a_problem_at_the_start_has_its_own_status(http: httpx.AsyncClient) -> None:
    for question, model, status in ((PERU, "nobody", 404), (PERU, "toy", 404)):
        body = {"question": question, "model": model, "version": 9, "stream": True}
        reply = await http.post("/v1/answers", json=body)
        assert (reply.status_code, reply.headers["content-type"]) == (status, "application/problem+json")


async def test_a_stream_that_breaks_says_so_and_is_not_done(http: httpx.AsyncClient) -> None:
    edit = {"edits": [item(PERU, f"Lima {BREAKING_WORD}")], "wait": "all"}
    assert (await http.post("/admin/edits", json=edit)).status_code == 201
    (first, _), (last, problem) = await stream(http, PERU)
    assert (first, last, problem["status"]) == ("delta", "problem", 500)
    assert "failed on this question" in problem["detail"]
    chat = {"model": "toy", "stream": True, "messages": [{"role": "user", "content": PERU}]}
    *_, end = (await http.post("/v1/chat/completions", json=chat)).text.strip().split("\n\n")
    assert json.loads(end.removeprefix("data: "))["error"]["code"] == "internal"


async def test_one_backup_is_restored_at_a_time(http: httpx.AsyncClient) -> None:
    has_begun, may_end = asyncio.Event(), asyncio.Event()

    async def slow() -> AsyncIterator[bytes]:
        yield b"x"
        has_begun.set()
        await may_end.wait()

    first = asyncio.create_task(http.post("/admin/import", content=slow()))
    await has_begun.wait()
    second = await http.post("/admin/import", content=b"x")
    assert (second.status_code, second.json()["code"]) == (429, "too_many")
    may_end.set()
    assert (await first).status_code == 422
    assert (await http.post("/admin/import", content=b"x")).status_code == 422


async def test_a_stream_has_a_longest_time(http: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body, "STREAM_LIMIT_S", 0.1)

    async def trickle() -> AsyncIterator[bytes]:
        for _ in range(500):
            yield b"x"
            await asyncio.sleep(0.01)

    reply = await http.post("/admin/import", content=trickle())
    assert (reply.status_code, reply.json()["code"]) == (408, "too_slow")


@pytest.mark.parametrize("verb", ["GET", "PUT", "DELETE"])
async def test_without_a_reader_there_are_no_documents(http: httpx.AsyncClient, verb: str) -> None:
    body = {"text": "x"} if verb == "PUT" else None
    reply = await http.request(verb, "/v1/documents/mill", json=body)
    assert (reply.status_code, reply.json()["code"]) == (404, "unknown_model")
    assert "no system that is served here reads documents" in reply.json()["detail"]
