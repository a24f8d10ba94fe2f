"""POST /v1/chat/completions: a question in OpenAI's shape, answered as /v1/answers answers it.

The model says all of an answer at once, so a stream has one chunk with all of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from time import time
from typing import Annotated, Any, Literal
from uuid import uuid4

from errata.wire import Answer, AnswerRequest
from errata.wire.openai import (
    ChatChoice,
    ChatChunk,
    ChatChunkChoice,
    ChatCompletion,
    ChatDelta,
    ChatReply,
    ChatRequest,
    ChatUsage,
)
from fastapi import APIRouter, Response
from fastapi.responses import StreamingResponse
from pydantic import ValidationError

from service.http.body import CHAT_BOUNDS, describe_invalid, json_body
from service.http.errors import CHAT, respond_chat_error
from service.http.model_router import ModelRouter
from service.http.openapi import document
from service.http.responses import EVENTS, NO_BUFFERING

TOKEN = re.compile(r"\s*(?:\w+|[^\w\s])")
"""A word or a punctuation mark. Tokens are each system's own, and none of them is known where HTTP is spoken."""

REFUSALS = {
    "unsure": "The model is not sure enough to answer.",
    "no_entity": "The graph knows nothing that the question names.",
    "no_graph": "Without the graph there is nothing to read an answer from.",
    "no_fact": "No fact of the graph answers the question.",
}

Finish = Literal["stop", "length"]
ChatBody = Annotated[ChatRequest, json_body(ChatRequest, CHAT_BOUNDS)]


def build_router(models: ModelRouter) -> APIRouter:
    router = APIRouter(tags=["answers"])

    @router.post(CHAT, **document(ChatCompletion, 404, streams=EVENTS))
    async def chat(body: ChatBody) -> Response:
        """Answer the last message of a user. `errata` pins a version, and the reply's `errata` says which answered."""
        options = body.errata.model_dump(exclude_defaults=True)
        try:
            question = AnswerRequest(question=body.question, model=body.model, **options)
        except ValidationError as error:
            raise describe_invalid(error) from error
        outcome = await models.answer(question)
        if outcome.status >= 400:
            return respond_chat_error(outcome, None)
        completion = _build_completion(body, Answer.model_validate_json(outcome.body))
        if not body.stream:
            return Response(completion.model_dump_json(), media_type="application/json")
        events = _stream(completion, body.wants_usage)
        return StreamingResponse(events, media_type=EVENTS, headers=NO_BUFFERING)

    return router


def _build_completion(request: ChatRequest, answer: Answer) -> ChatCompletion:
    finish: Finish = "stop"
    if answer.answer is None:
        refusal = REFUSALS.get(answer.reason or "", f"The model gives no answer: {answer.reason}.")
        text, message = refusal, ChatReply(content=None, refusal=refusal)
    else:
        text = answer.answer
        text = text[: min((text.index(stop) for stop in request.stops if stop in text), default=len(text))]
        tokens = TOKEN.findall(text)
        if request.answer_limit is not None and len(tokens) > request.answer_limit:
            text, finish = "".join(tokens[: request.answer_limit]), "length"
        message = ChatReply(content=text, refusal=None)
    n_prompt, n_completion = len(TOKEN.findall(request.question)), len(TOKEN.findall(text))
    return ChatCompletion(
        id=f"chatcmpl-{uuid4().hex}",
        created=int(time()),
        model=answer.model,
        choices=[ChatChoice(message=message, finish_reason=finish)],
        usage=ChatUsage(
            prompt_tokens=n_prompt, completion_tokens=n_completion, total_tokens=n_prompt + n_completion
        ),
        errata=answer,
    )


def _stream(completion: ChatCompletion, wants_usage: bool) -> Iterator[bytes]:
    """Yield events: the role, the text, the end; with `wants_usage` one without a choice and with the usage.

    [DONE] comes last, so that a reader sees whether the stream was cut.
    """
    [choice] = completion.choices
    message = choice.message
    if message.content is None:
        deltas = ChatDelta(role="assistant", refusal=""), ChatDelta(refusal=message.refusal)
    else:
        deltas = ChatDelta(role="assistant", content=""), ChatDelta(content=message.content)
    for delta in deltas:
        chunk = ChatChunkChoice(index=0, delta=delta, finish_reason=None)
        yield _encode(completion, wants_usage, choices=[chunk])
    last = ChatChunkChoice(index=0, delta=ChatDelta(), finish_reason=choice.finish_reason)
    yield _encode(completion, wants_usage, choices=[last], errata=completion.errata)
    if wants_usage:
        yield _encode(completion, wants_usage, choices=[], usage=completion.usage)
    yield b"data: [DONE]\n\n"


def _encode(completion: ChatCompletion, wants_usage: bool, **content: Any) -> bytes:
    """Write one chunk. Only what is set is sent: `usage` goes to those who want it, null until the last chunk."""
    usage = {"usage": None} if wants_usage else {}
    constant = {
        "object": "chat.completion.chunk",
        "id": completion.id,
        "created": completion.created,
        "model": completion.model,
    }
    chunk = ChatChunk.model_validate({**constant, **usage, **content})
    return b"data: " + chunk.model_dump_json(exclude_unset=True).encode() + b"\n\n"
