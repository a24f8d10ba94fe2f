"""The answer of an edit in the shape in which a model of an upstream was asked.

A stream names the edit in its first chunk (`errata`), where OpenAI's streaming helper looks for further than the text.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from functools import partial
from typing import Any
from uuid import uuid4

from errata.wire import Answer
from fastapi import Response
from pydantic import ValidationError

from service.http.openai import responses
from service.http.openai.chat import build_completion
from service.http.openai.replies import ChatCompletion
from service.http.openai.requests import ChatRequest
from service.http.responses import respond_events
from service.outcome import Outcome
from service.upstream.question import COMPLETIONS, LIMITS, RESPONSES, Fields
from service.upstream.text_field import find_text_field
from service.upstream.turn import begin_id


def can_shape(path: str, fields: Fields) -> bool:
    """Return whether an edit's answer can have the shape that is asked for."""
    return not fields.get("stream") or path == RESPONSES or fields.get("n") in (None, 1)


def read_chat(path: str, fields: Fields, question: str) -> ChatRequest | None:
    """Return the question as a chat with its limits; None if a limit is none that OpenAI has."""
    limits = {name: fields[name] for name in LIMITS if name in fields}
    if path == RESPONSES:
        limits = {"max_completion_tokens": fields.get("max_output_tokens")}
    chat = {"model": fields["model"], "messages": [{"role": "user", "content": question}], **limits}
    try:
        return ChatRequest.model_validate(chat)
    except ValidationError:
        return None


def respond_edit(path: str, fields: Fields, chat: ChatRequest, answer: dict[str, Any]) -> Response:
    """Respond with an edit's answer."""
    answer = {**answer, "model": chat.model}
    if (field := find_text_field(fields)) is not None:
        answer["answer"] = json.dumps({field: answer["answer"]}, ensure_ascii=False)
    id = begin_id(chat.question, answer["answer"])
    if path == RESPONSES:
        outcome = Outcome.ok(json.dumps(answer).encode())
        if fields.get("stream"):
            return respond_events(responses.stream_response(chat, _yield(outcome), id))
    completion = build_completion(chat, Answer.model_validate(answer))
    if path == RESPONSES:
        return Response(responses.encode_response(completion, id), media_type="application/json")
    is_text = path == COMPLETIONS
    if fields.get("stream"):
        return respond_events(_stream(completion, is_text, chat.wants_usage))
    body = completion.model_dump(mode="json")
    [choice] = body["choices"]
    if is_text:
        body |= {"id": _name(is_text), "object": "text_completion"}
        choice["text"] = choice.pop("message")["content"]
    body["choices"] = [{**choice, "index": index} for index in range(fields.get("n") or 1)]
    return Response(json.dumps(body), media_type="application/json")


async def _yield(outcome: Outcome) -> AsyncIterator[bytes | Outcome]:
    yield outcome


async def _stream(completion: ChatCompletion, is_text: bool, wants_usage: bool) -> AsyncIterator[bytes]:
    [choice] = completion.choices
    constant = {
        "id": _name(is_text),
        "object": "text_completion" if is_text else "chat.completion.chunk",
        "created": completion.created,
        "model": completion.model,
    } | ({"usage": None} if wants_usage else {})
    make = partial(_make_chunk, constant, is_text)
    yield make(choice.message.content, None, errata=completion.errata.model_dump(mode="json"))
    yield make(None, choice.finish_reason)
    if wants_usage:
        yield _encode({**constant, "choices": [], "usage": completion.usage.model_dump()})
    yield b"data: [DONE]\n\n"


def _make_chunk(
    constant: dict[str, Any], is_text: bool, text: str | None, finish: str | None, **further: Any
) -> bytes:
    delta = {} if text is None else {"role": "assistant", "content": text}
    content: dict[str, Any] = {"text": text or ""} if is_text else {"delta": delta}
    choice = {"index": 0, **content, "logprobs": None, "finish_reason": finish}
    return _encode({**constant, "choices": [choice], **further})


def _encode(chunk: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"


def _name(is_text: bool) -> str:
    return f"{'cmpl' if is_text else 'chatcmpl'}-{uuid4().hex}"
