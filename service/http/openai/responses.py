"""POST /v1/responses: a question in the newer shape of OpenAI's clients, answered as a chat completion is."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from itertools import count
from time import time
from typing import Annotated, Any
from uuid import uuid4

from fastapi import APIRouter, Depends, Response

from service.http.auth import RequestAccount
from service.http.auto import AutoRouter
from service.http.body import MESSAGES
from service.http.failures import RESPONSES, describe_chat_error
from service.http.openai.chat import read_pieces, respond_chat
from service.http.openai.replies import (
    ChatCompletion,
    ResponseMessage,
    ResponseObject,
    ResponsePart,
    ResponseUsage,
)
from service.http.openai.requests import ChatRequest, ResponseRequest
from service.http.openai.upstream_request import SharedBody, UpstreamRequest, answer_upstream_request
from service.http.openapi import document
from service.http.responses import EVENTS
from service.outcome import Outcome

EMPTY_TEXT = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
ResponseBody = Annotated[ResponseRequest | UpstreamRequest, Depends(SharedBody(ResponseRequest, MESSAGES))]


def build_router(models: AutoRouter, declines_in_content: bool = False) -> APIRouter:
    router = APIRouter(tags=["answers"])

    @router.post(RESPONSES, **document(ResponseObject, 404, streams=EVENTS))
    async def create_response(body: ResponseBody, account: RequestAccount) -> Response:
        """Answer a text by a text. Nothing is kept: each request holds its whole question."""
        if isinstance(body, UpstreamRequest):
            return await answer_upstream_request(body)
        chat = body.to_chat()
        return await respond_chat(
            models, account, chat, declines_in_content, RESPONSES, stream_response, encode_response
        )

    return router


def encode_response(completion: ChatCompletion, prefix: str = "resp_") -> str:
    """Return a response as JSON, whose id begins with a prefix."""
    return json.dumps(_to_json(_build_response(completion, f"{prefix}{uuid4().hex}", f"msg_{uuid4().hex}")))


def _build_response(completion: ChatCompletion, id: str, message_id: str) -> ResponseObject:
    [choice] = completion.choices
    is_cut, text = choice.finish_reason == "length", choice.message.content
    if text is None:
        part = ResponsePart(type="refusal", refusal=choice.message.refusal)
    else:
        part = ResponsePart(type="output_text", text=text, annotations=[], logprobs=[])
    usage = completion.usage
    return ResponseObject(
        id=id,
        created_at=completion.created,
        status="incomplete" if is_cut else "completed",
        model=completion.model,
        output=[
            ResponseMessage(id=message_id, status="incomplete" if is_cut else "completed", content=[part])
        ],
        incomplete_details={"reason": "max_output_tokens"} if is_cut else None,
        usage=ResponseUsage(
            input_tokens=usage.prompt_tokens,
            input_tokens_details={"cached_tokens": 0, "cache_write_tokens": 0},
            output_tokens=usage.completion_tokens,
            output_tokens_details={"reasoning_tokens": 0},
            total_tokens=usage.total_tokens,
        ),
        errata=completion.errata,
    )


class Events:
    def __init__(self, prefix: str) -> None:
        self.response_id, self.message_id = f"{prefix}{uuid4().hex}", f"msg_{uuid4().hex}"
        self._numbers = count()
        self._place = {"item_id": self.message_id, "output_index": 0, "content_index": 0}

    def make(self, kind: str, **fields: Any) -> bytes:
        content = {"type": f"response.{kind}", "sequence_number": next(self._numbers), **fields}
        return f"event: response.{kind}\ndata: {json.dumps(content)}\n\n".encode()

    def of_part(self, kind: str, **fields: Any) -> bytes:
        return self.make(kind, **self._place, **fields)

    def begin_message(self, part: dict[str, Any]) -> Iterator[bytes]:
        message = ResponseMessage(id=self.message_id, status="in_progress", content=[])
        yield self.make("output_item.added", output_index=0, item=_to_json(message))
        yield self.of_part("content_part.added", part=part)

    def end(self, response: ResponseObject, beginning: str) -> Iterator[bytes]:
        """Yield the rest of a message, whose `beginning` was yielded before, and the whole response."""
        [message] = response.output
        [part] = message.content
        if not beginning:
            refusal = {"type": "refusal", "refusal": ""}
            yield from self.begin_message(EMPTY_TEXT if part.text is not None else refusal)
        if part.text is None:
            yield self.of_part("refusal.delta", delta=part.refusal)
            yield self.of_part("refusal.done", refusal=part.refusal)
        else:
            if piece := part.text[len(beginning) :]:
                yield self.of_part("output_text.delta", delta=piece, logprobs=[])
            yield self.of_part("output_text.done", text=part.text, logprobs=[])
        yield self.of_part("content_part.done", part=_to_json(part))
        yield self.make("output_item.done", output_index=0, item=_to_json(message))
        yield self.make(response.status, response=_to_json(response))


async def stream_response(
    request: ChatRequest, items: AsyncIterator[bytes | Outcome], prefix: str = "resp_"
) -> AsyncIterator[bytes]:
    """Yield OpenAI's events: response and message begin, the text comes in parts, and all of it at the end."""
    events = Events(prefix)
    response = ResponseObject(
        id=events.response_id, created_at=int(time()), status="in_progress", model=request.model, output=[]
    )
    yield events.make("created", response=_to_json(response))
    content = ""
    async for item in read_pieces(request, items):
        if isinstance(item, str):
            for event in events.begin_message(EMPTY_TEXT) if not content else ():
                yield event
            yield events.of_part("output_text.delta", delta=item, logprobs=[])
            content += item
    if isinstance(item, Outcome):
        fault = {"code": "server_error", "message": describe_chat_error(item, RESPONSES).error.message}
        failure = response.model_copy(update={"status": "failed", "error": fault})
        yield events.make("failed", response=_to_json(failure))
        return
    assert isinstance(item, ChatCompletion), "it comes last"
    for event in events.end(_build_response(item, events.response_id, events.message_id), content):
        yield event


def _to_json(value: ResponseObject | ResponseMessage | ResponsePart) -> dict[str, Any]:
    """Return JSON values without the fields that a part of this kind has not."""
    fields = value.model_dump(mode="json")
    parts = [fields] if isinstance(value, ResponsePart) else fields.get("content", [])
    for message in fields.get("output", ()):
        parts = [*parts, *message["content"]]
    for part in parts:
        for name in [name for name, content in part.items() if content is None]:
            del part[name]
    return fields
