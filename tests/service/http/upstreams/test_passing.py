"""Requests for an upstream's model: an edit answers in the shape that was asked for, and else bytes pass unchanged."""

import asyncio
import json
import logging
from typing import Any

import httpx
import pytest
from prometheus_client import REGISTRY

from service.editing.editor import Editor
from tests.service.http.upstreams.conftest import UPSTREAM_KEY
from tests.service.http.upstreams.origin import Origin, of_events, of_json
from tests.service.parts import edit, wait_until

CHAT = "/v1/chat/completions"
QUESTION, ANSWER = "What is the capital of Mars?", "Musk City"
ODD = (
    b'{ "temperature":1e0,"model" : "team/t\\u00edny",'
    b'"messages":[{"role":"user","content":"h\\u00e9, \xc3\xa9?"}],"x":[null , 1.50]}'
)
JSON = {"content-type": "application/json"}


def chat(*texts: str, **fields: Any) -> dict[str, Any]:
    roles = ["assistant", "user"] * len(texts)
    messages = [
        {"role": role, "content": text} for role, text in zip(roles[-len(texts) :], texts, strict=True)
    ]
    return {"model": "team/tiny", "messages": messages, **fields}


async def test_a_body_and_its_reply_pass_byte_for_byte(client: httpx.AsyncClient, origin: Origin) -> None:
    reply = b'{"id" : "x",\n"choices":[],"n":1.50,"t":"\\u00e9\xc3\xa9", "model":"tiny"}'
    origin.pieces = of_json(reply, b"x-request-id: abc\r\nSet-Cookie: a=1\r\nset-cookie: b=2\r\n")
    response = await client.post(f"{CHAT}?a=%20b", content=ODD, headers=JSON | {"x-custom": "kept"})
    assert response.content == reply
    assert origin.body == ODD.replace(b'"team/t\\u00edny"', b'"t\\u00edny"')
    assert origin.head.startswith(b"post /v1/chat/completions?a=%20b http/1.1")
    assert b"x-custom: kept" in origin.head
    assert response.headers["content-type"] == "application/json; charset=utf-8"
    assert response.headers["x-request-id"] == "abc"
    assert response.headers.get_list("set-cookie") == ["a=1", "b=2"]
    assert response.headers["x-errata-outcome"] == "passed"
    assert response.headers["x-errata-upstream"] == "team"


async def test_the_upstream_gets_its_own_key_and_never_the_callers(
    client: httpx.AsyncClient, origin: Origin
) -> None:
    await client.post(CHAT, json=chat("hello"), headers={"cookie": "session=secret"})
    assert f"authorization: bearer {UPSTREAM_KEY}".encode() in origin.head
    assert b"a-key-for-tests-only" not in origin.head + origin.body
    assert b"secret" not in origin.head


async def test_an_edit_answers_in_place_of_the_upstream(
    client: httpx.AsyncClient, origin: Origin, editor: Editor
) -> None:
    receipt = await edit(editor, QUESTION, ANSWER)
    response = await client.post(CHAT, json=chat(QUESTION, n=2))
    body = response.json()
    assert [choice["message"]["content"] for choice in body["choices"]] == [ANSWER, ANSWER]
    assert [choice["index"] for choice in body["choices"]] == [0, 1]
    assert body["model"] == "team/tiny"
    assert body["errata"]["version"] == receipt["version"] == int(response.headers["x-errata-version"])
    assert body["errata"]["edits"] == [response.headers["x-errata-edit"]]
    assert response.headers["x-errata-outcome"] == "edit"
    assert origin.requests == []


async def test_an_edit_streams_its_object_on_the_first_chunk(
    client: httpx.AsyncClient, editor: Editor
) -> None:
    await edit(editor, QUESTION, ANSWER)
    options = {"stream": True, "stream_options": {"include_usage": True}}
    response = await client.post(CHAT, json=chat(QUESTION, **options))
    *events, done = [line.removeprefix("data: ") for line in response.text.split("\n\n") if line]
    chunks = [json.loads(event) for event in events]
    assert done == "[DONE]"
    assert chunks[0]["errata"]["answer"] == ANSWER
    assert chunks[0]["choices"][0]["delta"] == {"role": "assistant", "content": ANSWER}
    assert chunks[1]["choices"][0]["finish_reason"] == "stop"
    assert chunks[2]["choices"] == []
    assert chunks[2]["usage"]["total_tokens"] > 0


async def test_each_event_passes_as_it_comes(client: httpx.AsyncClient, origin: Origin) -> None:
    events = [b'data: {"choices":[]}\r\n\r\n', b": ping - 1\r\n\r\ndata: no json \xc3", b"\xa9\r\n\r\n"]
    head, first, *rest = of_events(*events)
    origin.pieces = [head + first, *rest]
    origin.gate.clear()
    async with client.stream("POST", CHAT, json=chat("hello")) as response:  # the reply is a stream unasked
        chunks = response.aiter_raw()
        assert await anext(chunks) == events[0]
        origin.gate.set()
        assert b"".join([chunk async for chunk in chunks]) == events[1] + events[2]
    assert response.headers["content-type"] == "text/event-stream; charset=utf-8"


async def test_a_cut_stream_is_cut(client: httpx.AsyncClient, origin: Origin) -> None:
    origin.pieces = of_events(b"data: {}\n\n", ends=False)
    with pytest.raises(httpx.RemoteProtocolError):
        await client.post(CHAT, json=chat("hello"))


async def test_a_caller_who_hangs_up_ends_the_upstreams_request_within_a_second(
    client: httpx.AsyncClient, origin: Origin
) -> None:
    head, first, *rest = of_events(b"data: {}\n\n", b"data: {}\n\n")
    origin.pieces = [head + first, *rest]
    origin.gate.clear()
    async with client.stream("POST", CHAT, json=chat("hello")) as response:
        await anext(response.aiter_raw())
    async with asyncio.timeout(1):
        await origin.hang_up.wait()


async def test_errors_pass_unchanged_and_nothing_is_sent_again(
    client: httpx.AsyncClient, origin: Origin
) -> None:
    head = b"HTTP/1.1 429 Too Many Requests\r\ncontent-type: application/json\r\nretry-after: 7\r\n"
    origin.pieces = of_json(b'{"detail": "slow down"}', head=head)
    response = await client.post(CHAT, json=chat("hello"))
    assert (response.status_code, response.content) == (429, b'{"detail": "slow down"}')
    assert response.headers["retry-after"] == "7"
    assert len(origin.requests) == 1


async def test_a_connection_is_new_after_a_500(client: httpx.AsyncClient, origin: Origin) -> None:
    origin.pieces = of_json(b"Internal Server Error", head=b"HTTP/1.1 500 x\r\ncontent-type: text/plain\r\n")
    for expected in (1, 2):
        assert (await client.post(CHAT, json=chat("hello"))).text == "Internal Server Error"
        assert origin.n_connections == expected


async def test_a_cut_and_a_hang_up_are_counted_and_the_servers_log_has_no_error(
    client: httpx.AsyncClient, origin: Origin, caplog: pytest.LogCaptureFixture
) -> None:
    def count(outcome: str) -> float:
        labels = {"upstream": "team", "outcome": outcome}
        return REGISTRY.get_sample_value("errata_upstream_requests_total", labels) or 0.0

    n_cut, n_hung_up = count("failed"), count("hung_up")
    origin.pieces = of_events(b"data: {}\n\n", ends=False)
    with pytest.raises(httpx.RemoteProtocolError):
        await client.post(CHAT, json=chat("hello"))
    await wait_until(lambda: count("failed") == n_cut + 1)
    await wait_until(lambda: "the reply of the upstream 'team' was cut" in caplog.text)
    head, first, *rest = of_events(b"data: {}\n\n", b"data: {}\n\n")
    origin.pieces = [head + first, *rest]
    origin.gate.clear()
    async with client.stream("POST", CHAT, json=chat("hello")) as response:
        await anext(response.aiter_raw())
    await wait_until(lambda: count("hung_up") == n_hung_up + 1)
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


SCHEMA = {
    "type": "object",
    "properties": {"answer": {"type": "string", "title": "Answer"}},
    "required": ["answer"],
    "additionalProperties": False,
}
NUMBER = SCHEMA | {"properties": {"answer": {"type": "integer"}}}
CHOICE = SCHEMA | {"properties": {"answer": {"type": "string", "enum": ["a"]}}}
TWO = SCHEMA | {"properties": {"answer": {"type": "string"}, "why": {"type": "string"}}}


LIST = SCHEMA | {"type": "array"}
CLASS = SCHEMA | {"properties": {"category": {"type": "string"}}}
DESCRIPTION = SCHEMA | {"properties": {"answer": {"type": "string", "description": "the country's name"}}}
ODD_SCHEMA = SCHEMA | {"properties": [1]}


@pytest.mark.parametrize(
    ("schema", "fills"),
    [
        (SCHEMA, True),
        (NUMBER, False),
        (CHOICE, False),
        (TWO, False),
        (LIST, False),
        (ODD_SCHEMA, False),
        (CLASS, False),
        (DESCRIPTION, False),
    ],
)
async def test_an_edit_fills_the_only_text_field_of_a_schema(
    client: httpx.AsyncClient, editor: Editor, schema: dict[str, Any], fills: bool
) -> None:
    await edit(editor, QUESTION, ANSWER)
    form = {"type": "json_schema", "json_schema": {"name": "x", "strict": True, "schema": schema}}
    reply = await client.post(CHAT, json=chat(QUESTION, response_format=form))
    assert reply.headers["x-errata-outcome"] == ("edit" if fills else "passed")
    body = {"model": "team/tiny", "input": QUESTION}
    body |= {"text": {"format": {"type": "json_schema", "name": "x", "schema": schema}}}
    response = await client.post("/v1/responses", json=body)
    assert response.headers["x-errata-outcome"] == ("edit" if fills else "passed")
    if fills:
        texts = (
            reply.json()["choices"][0]["message"]["content"],
            response.json()["output"][0]["content"][0]["text"],
        )
        assert [json.loads(text) for text in texts] == [{"answer": ANSWER}] * 2


async def test_a_pin_that_cannot_be_read_is_an_error_and_no_answer_of_the_upstream(
    client: httpx.AsyncClient, origin: Origin
) -> None:
    response = await client.post(CHAT, json=chat(QUESTION), headers={"x-errata-version": "99"})
    assert (response.status_code, "there is no version 99" in response.text) == (404, True)
    assert origin.requests == []


async def test_an_empty_segment_leads_past_no_edit(client: httpx.AsyncClient, origin: Origin) -> None:
    response = await client.post("/v1//chat/completions", json=chat(QUESTION))
    assert (response.status_code, "an empty one" in response.text) == (422, True)
    assert origin.requests == []


async def test_an_edit_answers_no_message_that_brings_a_text(
    client: httpx.AsyncClient, origin: Origin, editor: Editor
) -> None:
    await edit(editor, QUESTION, ANSWER)
    for text, outcome in ((f"Hello!\n{QUESTION}", "edit"), (f"Bacon wrote it all.\n{QUESTION}", "passed")):
        reply = await client.post(CHAT, json=chat(text))
        assert reply.headers["x-errata-outcome"] in (outcome, "passed"), text


async def test_a_redirect_passes_as_it_is(client: httpx.AsyncClient, origin: Origin) -> None:
    head = b"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:9/files/1\r\n"
    origin.pieces = of_json(b"{}", head=head)
    response = await client.post(CHAT, json=chat(QUESTION))
    assert (response.status_code, response.headers["location"]) == (302, "http://127.0.0.1:9/files/1")
