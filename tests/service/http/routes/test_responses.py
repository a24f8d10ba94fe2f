"""OpenAI's newer `responses.create` is answered as its chat completions are, whole and as a stream."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import openai
import pytest
import pytest_asyncio
from fastapi import FastAPI

from tests.service.http.conftest import SHARED_LOOP
from tests.service.http.listening import listening

pytestmark = SHARED_LOOP

HAMLET, UNKNOWN = "Who wrote Hamlet?", "What is the capital of Nowhere?"
AUTHOR = "William Shakespeare"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def address(shared_app: FastAPI) -> AsyncIterator[str]:
    async with listening(shared_app) as address:
        yield f"{address}/v1"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client(address: str) -> AsyncIterator[openai.AsyncOpenAI]:
    async with openai.AsyncOpenAI(base_url=address, api_key="none", max_retries=0) as client:
        yield client


@pytest.mark.parametrize(
    "content",
    [
        HAMLET,
        [{"role": "system", "content": "Be short."}, {"role": "user", "content": HAMLET}],
        [{"role": "user", "content": [{"type": "input_text", "text": HAMLET}]}],
    ],
)
async def test_a_text_or_the_last_message_of_a_user_is_answered(
    client: openai.AsyncOpenAI, content: Any
) -> None:
    reply = await client.responses.create(model="toy", input=content, instructions="Be short.", store=False)
    assert (reply.output_text, reply.model, reply.status) == (AUTHOR, "toy", "completed")
    assert reply.usage is not None
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (4, 2)
    assert reply.model_extra is not None
    assert reply.model_extra["errata"]["answer"] == AUTHOR


async def test_a_stream_has_the_events_of_openais_client_and_ends_with_the_whole(
    client: openai.AsyncOpenAI,
) -> None:
    events = [event async for event in await client.responses.create(model="toy", input=HAMLET, stream=True)]
    assert [event.type for event in events if "delta" not in event.type] == [
        "response.created",
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
    ]
    assert [event.sequence_number for event in events] == list(range(len(events)))
    text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    assert text == AUTHOR
    last = events[-1]
    assert last.type == "response.completed"
    assert last.response.output_text == AUTHOR


async def test_a_declined_answer_is_a_refusal_or_the_text(client: openai.AsyncOpenAI) -> None:
    reply = await client.responses.create(model="toy", input=UNKNOWN)
    assert reply.output_text == ""
    message = reply.output[0]
    assert message.type == "message"
    assert message.content[0].type == "refusal"
    reply = await client.responses.create(
        model="toy", input=UNKNOWN, extra_body={"errata": {"decline_as": "content"}}
    )
    assert reply.output_text
    events = [event async for event in await client.responses.create(model="toy", input=UNKNOWN, stream=True)]
    assert "response.refusal.done" in [event.type for event in events]


@pytest.mark.parametrize(
    ("fields", "status", "words"),
    [
        ({"tools": [{"type": "web_search"}]}, 400, "tools are never called here"),
        ({"previous_response_id": "resp_1"}, 400, "responses are not kept here"),
        ({"input": []}, 400, "no message with the role `user`"),
        ({"input": [{"role": "user", "content": [{"type": "input_image"}]}]}, 400, "part 0 is not"),
        ({"model": "nobody"}, 404, "nobody"),
        ({"colour": "red"}, 400, "colour"),
        ({"input": ""}, 400, "input: is empty"),
        ({"input": [{"role": "user", "content": " "}]}, 400, "input: is empty"),
        ({"input": "x" * 2_001}, 413, "input: has 2,001 characters"),
        ({"input": "a\x07"}, 400, "input: has the control character U+0007"),
    ],
)
async def test_a_request_that_cannot_be_used_is_an_error_of_openais_shape(
    address: str, fields: dict[str, Any], status: int, words: str
) -> None:
    async with httpx.AsyncClient() as http:
        reply = await http.post(f"{address}/responses", json={"model": "toy", "input": HAMLET, **fields})
    assert (reply.status_code, set(reply.json())) == (status, {"error"})
    error = reply.json()["error"]
    assert words in error["message"]
    assert error["param"] in (None, *fields)
