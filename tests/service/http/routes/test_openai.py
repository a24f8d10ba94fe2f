"""OpenAI's own package asks this service as it asks OpenAI's, and finds the fields and errors that it expects."""

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import errata
import httpx
import openai
import pytest
import pytest_asyncio
from errata.wire import Answer
from fastapi import FastAPI
from openai.types.chat import ChatCompletion

from service.http.openai.requests import OF_CHATS
from tests.service.editing.requests import FRANCE, PERU
from tests.service.http.conftest import SHARED_LOOP
from tests.service.http.listening import listening

pytestmark = SHARED_LOOP

HAMLET = "Who wrote Hamlet?"
UNKNOWN = "What is the capital of Nowhere?"
README = Path(errata.__file__).parents[2] / "README.md"


def user(*parts: Any) -> list[Any]:
    """Make one message of a user: its text, or its parts."""
    content = parts[0] if len(parts) == 1 and isinstance(parts[0], str) else list(parts)
    return [{"role": "user", "content": content}]


def text_part(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def address(shared_app: FastAPI) -> AsyncIterator[str]:
    async with listening(shared_app) as address:
        yield f"{address}/v1"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client(address: str) -> AsyncIterator[openai.AsyncOpenAI]:
    async with connect(address, "none") as client:
        yield client


def connect(address: str, key: str) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(base_url=address, api_key=key, max_retries=0)


async def ask(client: openai.AsyncOpenAI, question: Any, **options: Any) -> ChatCompletion:
    messages = user(question) if isinstance(question, str) else question
    completion = await client.chat.completions.create(**{"model": "toy", "messages": messages, **options})
    assert isinstance(completion, ChatCompletion)
    return completion


def answer(completion: Any) -> Answer:
    """What is beyond OpenAI's shape."""
    return Answer.model_validate(completion.errata)


async def test_a_question_is_answered(client: openai.AsyncOpenAI) -> None:
    completion = await ask(client, PERU)
    [choice] = completion.choices
    assert (choice.message.role, choice.message.content, choice.message.refusal) == (
        "assistant",
        "Lima",
        None,
    )
    assert (choice.finish_reason, completion.model, completion.object) == ("stop", "toy", "chat.completion")
    assert completion.id.startswith("chatcmpl-")
    assert (answer(completion).answer, answer(completion).version, answer(completion).score) == (
        "Lima",
        0,
        0.9,
    )


@pytest.mark.parametrize(
    "messages",
    [
        user(text_part("What is the capital"), text_part("of Peru?")),
        user("What is the capital\r\n\tof Peru?\n"),
        [{"role": "system", "content": "You are a helpful assistant."}, *user(PERU)],
        [
            {"role": "developer", "content": "Be brief."},
            *user(PERU),
            {"role": "assistant", "content": "It is"},
        ],
        [*user(FRANCE), {"role": "assistant", "content": None, "tool_calls": []}, *user(PERU)],
        [*user({"type": "image_url", "image_url": {"url": "data:"}}), *user(PERU)],
    ],
)
async def test_the_last_message_of_a_user_is_the_question(
    client: openai.AsyncOpenAI, messages: list[Any]
) -> None:
    assert (await ask(client, messages)).choices[0].message.content == "Lima"


async def test_who_is_declined_reads_why(client: openai.AsyncOpenAI) -> None:
    [choice] = (await ask(client, UNKNOWN, max_tokens=1, stop=["not"])).choices
    assert (choice.message.content, choice.finish_reason) == (None, "stop")
    assert choice.message.refusal == "The model is not sure enough to answer."
    pieces = await client.chat.completions.create(model="toy", messages=user(UNKNOWN), stream=True)
    deltas = [chunk.choices[0].delta async for chunk in pieces]
    assert "".join(delta.refusal or "" for delta in deltas) == choice.message.refusal
    assert [delta.content for delta in deltas] == [None] * 3


async def test_an_answer_has_the_day_that_was_asked_for_and_today_without(client: openai.AsyncOpenAI) -> None:
    completion = await ask(client, PERU, extra_body={"errata": {"as_of": "1975-03-31"}})
    response = await client.responses.create(
        model="toy", input=PERU, extra_body={"errata": {"as_of": "1975-03-31"}}
    )
    assert [answer(reply).as_of for reply in (completion, response)] == ["1975-03-31"] * 2
    assert answer(await ask(client, PERU)).as_of > "2026"


async def test_a_stream_has_the_role_the_text_the_end_and_the_usage(client: openai.AsyncOpenAI) -> None:
    pieces = await client.chat.completions.create(
        model="toy", messages=user(PERU), stream=True, stream_options={"include_usage": True}
    )
    chunks = [chunk async for chunk in pieces]
    role, content, end, usage = chunks
    assert (role.choices[0].delta.role, role.choices[0].delta.content) == ("assistant", "")
    assert content.choices[0].delta.to_dict() == {"content": "Lima"}
    assert [chunk.choices[0].finish_reason for chunk in (role, content, end)] == [None, None, "stop"]
    assert answer(end).version == 0
    assert usage.choices == []
    assert usage.usage is not None
    assert usage.usage.to_dict() == {"prompt_tokens": 7, "completion_tokens": 1, "total_tokens": 8}
    assert len({chunk.id for chunk in chunks}) == 1


@pytest.mark.parametrize(
    ("options", "content", "finish"),
    [
        ({"max_tokens": 1}, "William", "length"),
        ({"max_completion_tokens": 1, "max_tokens": 9}, "William", "length"),
        ({"max_tokens": 2}, "William Shakespeare", "stop"),
        ({"stop": " Sh"}, "William", "stop"),
        ({"stop": ["speare", "kes", "no such"]}, "William Sha", "stop"),
        ({"stop": []}, "William Shakespeare", "stop"),
    ],
)
async def test_limits_of_the_answer_are_kept(
    client: openai.AsyncOpenAI, options: dict[str, Any], content: str, finish: str
) -> None:
    completion = await ask(client, HAMLET, **options)
    assert (completion.choices[0].message.content, completion.choices[0].finish_reason) == (content, finish)
    assert completion.usage is not None
    assert completion.usage.completion_tokens == len(content.split())
    assert answer(completion).answer == "William Shakespeare"
    pieces = await client.chat.completions.create(model="toy", messages=user(HAMLET), stream=True, **options)
    *texts, last = [chunk.choices[0] async for chunk in pieces]
    assert ("".join(text.delta.content or "" for text in texts), last.finish_reason) == (content, finish)


async def test_what_clients_send_by_default_disturbs_nothing(client: openai.AsyncOpenAI) -> None:
    """These are the fields that LangChain, LlamaIndex, LiteLLM and chat programs send by default."""
    completion = await ask(
        client,
        PERU,
        **{"temperature": 0.7, "top_p": 1, "n": 1, "seed": 7, "presence_penalty": 0, "stop": None},
        **{"logit_bias": {}, "logprobs": False, "tools": [], "tool_choice": "none", "user": "u-1"},
        **{"response_format": {"type": "text"}, "store": False, "metadata": {"trace": "1"}},
        **{"modalities": ["text"], "parallel_tool_calls": True, "service_tier": "auto", "stream": False},
        **{"frequency_penalty": 0.5, "max_tokens": 256},
    )
    assert completion.choices[0].message.content == "Lima"


UNSUPPORTED_VALUES = {
    "n": 2,
    "tools": [{"type": "function", "function": {"name": "look", "parameters": {}}}],
    "tool_choice": "required",
    "functions": [{"name": "look"}],
    "function_call": {"name": "look"},
    "response_format": {"type": "json_object"},
    "modalities": ["text", "audio"],
    "audio": {"voice": "alloy", "format": "mp3"},
    "logit_bias": {"50256": -100},
    "web_search_options": {},
    "moderation": {"model": "omni"},
    "store": True,
}
TOKEN_FIELDS = {
    "logprobs": True,
    "top_logprobs": 3,
}  # fields that the toy refuses, because it does not draw its answers


@pytest.mark.parametrize("field", [*OF_CHATS, "logprobs", "top_logprobs"])
async def test_what_cannot_be_kept_to_is_refused_by_name(client: openai.AsyncOpenAI, field: str) -> None:
    with pytest.raises(openai.BadRequestError) as refusal:
        await ask(client, PERU, **{field: (UNSUPPORTED_VALUES | TOKEN_FIELDS)[field]})
    assert (refusal.value.param, refusal.value.code) == (field, "invalid_input")
    assert refusal.value.type == "invalid_request_error"
    assert field in refusal.value.message
    assert "leave" in refusal.value.message


@pytest.mark.parametrize(
    ("body", "param", "text"),
    [
        ({"messages": []}, "messages", "is an empty list"),
        ({"messages": [{"role": "system", "content": PERU}]}, "messages", "role `user`"),
        ({"messages": user(text_part("See:"), {"type": "image_url"})}, "messages", "part 1 is not"),
        ({"messages": [{"role": "user"}]}, "messages", "part 0 is not"),
        ({"messages": [{"role": "pirate", "content": PERU}]}, "messages.0.role", "'user'"),
        ({"messages": user("   ")}, "messages", "messages: is empty"),
        ({"stop": ""}, "stop", "stop: has to be a text or a list of texts, of which none is empty"),
        ({"stop": ["a", 1]}, "stop", "stop: has to be a text or a list of texts, of which none is empty"),
        ({"temprature": 1}, "temprature", "is no field"),
        ({"temperature": 3}, "temperature", "has to be 2.0 or less"),
        ({"max_tokens": 0}, "max_tokens", "has to be 1 or more"),
        ({"n": True}, "n", "leave it out or send 1"),
        ({"errata": {"version": -1}}, "errata.version", "has to be 0 or more"),
        ({"errata": {"as_of": "1975"}}, "errata.as_of", "is no day: write it as"),
        ({"errata": {"verison": 1}}, "errata.verison", "is no field"),
        ({"errata": {"version": 0, "min_version": 1}}, None, "leave one out"),
        ({"errata": {"context": "Peru is"}}, None, "does not read `context`"),
    ],
)
async def test_what_is_wrong_is_said_with_its_place(
    shared_http: httpx.AsyncClient, body: dict[str, Any], param: str | None, text: str
) -> None:
    body = {"model": "toy", "messages": user(PERU), **body}
    reply = await shared_http.post("/v1/chat/completions", json=body)
    assert (reply.status_code, reply.headers["content-type"]) == (400, "application/json")
    error = reply.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert (error["param"], error["code"]) == (param, "invalid_input")
    assert text in error["message"]


@pytest.mark.parametrize(
    ("options", "kind", "status", "code", "text"),
    [
        ({"model": "gpt-4o"}, openai.NotFoundError, 404, "unknown_model", "there is toy"),
        ({"extra_body": {"errata": {"version": 9}}}, openai.NotFoundError, 404, "not_found", "no version 9"),
        (
            {"extra_body": {"errata": {"min_version": 9}}},
            openai.InternalServerError,
            503,
            "version_ahead",
            "9",
        ),
        ({"messages": user("x" * 2001)}, openai.APIStatusError, 413, "too_large", "2,001"),
        ({"messages": user("x" * 1_000_001)}, openai.APIStatusError, 413, "too_large", "1,000,000"),
        ({"messages": user("break the model")}, openai.InternalServerError, 500, "internal", "RuntimeError"),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
async def test_errors_are_those_that_the_package_knows(
    client: openai.AsyncOpenAI,
    options: dict[str, Any],
    kind: Any,
    status: int,
    code: str,
    text: str,
    stream: bool,
) -> None:
    with pytest.raises(kind) as refusal:
        await client.chat.completions.create(
            **{"model": "toy", "messages": user(PERU), "stream": stream, **options}
        )
    assert (refusal.value.status_code, refusal.value.code) == (status, code)
    assert refusal.value.type == ("server_error" if status >= 500 else "invalid_request_error")
    assert text in refusal.value.message


async def test_models_are_listed_and_looked_up(client: openai.AsyncOpenAI) -> None:
    cards = [model async for model in client.models.list()]
    assert [(model.id, model.object, model.owned_by) for model in cards] == [("toy", "model", "errata")]
    assert await client.models.retrieve("toy") == cards[0]
    with pytest.raises(openai.NotFoundError) as refusal:
        await client.models.retrieve("gpt-4o")
    assert refusal.value.code == "unknown_model"


async def test_the_program_of_the_readme_runs(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    [program] = re.findall(r"```py\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    readme_program = program.replace("http://127.0.0.1:8000/v1", address).replace("nkb", "toy")
    names: dict[str, Any] = {"key": "none"}
    await asyncio.to_thread(exec, readme_program, names)
    names["client"].close()
    assert capsys.readouterr().out == "Lima 0 0.9\nLima\nLima"


async def test_a_declined_answer_is_content_where_the_request_or_the_service_says_so(
    client: openai.AsyncOpenAI, address: str
) -> None:
    body = {"model": "toy", "messages": user(UNKNOWN), "errata": {"decline_as": "content"}}
    async with httpx.AsyncClient() as http:
        [choice] = (await http.post(f"{address}/chat/completions", json=body)).json()["choices"]
        assert (choice["message"]["refusal"], choice["finish_reason"]) == (None, "stop")
        assert choice["message"]["content"]
        stream = (await http.post(f"{address}/chat/completions", json=body | {"stream": True})).text
        assert choice["message"]["content"] in stream
        [choice] = (await http.post(f"{address}/chat/completions", json=body | {"errata": {}})).json()[
            "choices"
        ]
        assert choice["message"]["content"] is None
