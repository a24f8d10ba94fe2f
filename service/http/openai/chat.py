"""POST /v1/chat/completions: a question in OpenAI's shape, answered as /v1/answers answers it.

A stream has a chunk for each delta of a system that streams, and one with all of the text for the others; tokens with
their log-probabilities come with its last chunk.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Mapping
from functools import partial
from secrets import randbits
from time import time
from typing import Annotated, Literal
from uuid import uuid4

from errata.wire import Answer, AnswerDelta, AnswerRequest
from fastapi import APIRouter, Depends, Response
from pydantic import ValidationError

from service.errors import InvalidInput
from service.http.auth import Account, RequestAccount
from service.http.auto import AutoRouter
from service.http.body import MESSAGES, describe_invalid
from service.http.failures import CHAT, describe_chat_error, respond_chat_error
from service.http.openai.replies import (
    ChatChoice,
    ChatChunk,
    ChatChunkChoice,
    ChatCompletion,
    ChatDelta,
    ChatLogprobs,
    ChatReply,
    ChatUsage,
)
from service.http.openai.requests import ChatRequest
from service.http.openai.upstream_request import SharedBody, UpstreamRequest, answer_upstream_request
from service.http.openapi import document
from service.http.responses import EVENTS, chain, respond_events
from service.outcome import Outcome

SEED_BITS = 63
NO_ODDS = "the answer of {model!r} has one score, `errata.score`, and no token has one: leave `{field}` out"
TOKEN = re.compile(r"\s*(?:\w+|[^\w\s])")
"""A word or a punctuation mark. Tokens are each system's own, and none of them is known where HTTP is spoken."""

Finish = Literal["stop", "length"]
ChatBody = Annotated[ChatRequest | UpstreamRequest, Depends(SharedBody(ChatRequest, MESSAGES))]


def build_router(models: AutoRouter, declines_in_content: bool = False) -> APIRouter:
    router = APIRouter(tags=["answers"])

    @router.post(CHAT, **document(ChatCompletion, 404, streams=EVENTS))
    async def complete_chat(body: ChatBody, account: RequestAccount) -> Response:
        """Answer the last message of a user. `errata` pins a version, and the reply's `errata` says which answered."""
        if isinstance(body, UpstreamRequest):
            return await answer_upstream_request(body)
        encode = ChatCompletion.model_dump_json
        return await respond_chat(models, account, body, declines_in_content, CHAT, _stream, encode)

    return router


async def respond_chat(
    models: AutoRouter,
    account: Account,
    body: ChatRequest,
    declines_in_content: bool,
    path: str,
    stream: Callable[[ChatRequest, AsyncIterator[bytes | Outcome]], AsyncIterator[bytes]],
    encode: Callable[[ChatCompletion], str],
) -> Response:
    """Answer a chat, in events made by `stream` or in JSON made by `encode`.

    Args:
        declines_in_content: Whether a reply has the reason of a declined answer as its text, unless the request says.
    """
    chat, request = await _read_chat(models, body, declines_in_content)
    question = await models.prepare(request, account)
    await account.charge(question.work)
    if body.stream:
        items = models.stream(question)
        first = await anext(items)
        if not isinstance(first, Outcome) or first.status < 400:
            return respond_events(stream(chat, chain(first, items)))
        return respond_chat_error(first, path)
    outcome = await models.answer(question)
    if outcome.status >= 400:
        return respond_chat_error(outcome, path)
    completion = build_completion(chat, Answer.model_validate_json(outcome.body))
    return Response(encode(completion), media_type="application/json")


async def _read_chat(
    models: AutoRouter, body: ChatRequest, declines_in_content: bool
) -> tuple[ChatRequest, AnswerRequest]:
    """Return a chat with the options of the service, and the question in it.

    Raises:
        InvalidInput: The model gives no odds of tokens, or the question cannot be used.
    """
    if body.errata.decline_as is None and declines_in_content:
        options_of_service = body.errata.model_copy(update={"decline_as": "content"})
        body = body.model_copy(update={"errata": options_of_service})
    options = body.errata.model_dump(exclude_defaults=True, exclude={"decline_as"})
    if body.wants_draw and await models.draws(body.model):
        options["sampling"] = body.to_sampling(randbits(SEED_BITS))
        body = body.model_copy(update=dict.fromkeys(("stop", "max_tokens", "max_completion_tokens")))
    elif body.wants_tokens:
        field = "logprobs" if body.logprobs else "top_logprobs"
        raise InvalidInput(NO_ODDS.format(model=body.model, field=field), field=field)
    try:
        return body, AnswerRequest(question=body.question, model=body.model, **options)
    except ValidationError as error:
        raise describe_invalid(error) from error


def build_completion(request: ChatRequest, answer: Answer) -> ChatCompletion:
    finish: Finish = "stop"
    if answer.answer is None:
        text = answer.reason_text or "The model gives no answer."
        is_content = request.errata.decline_as == "content"
        message = ChatReply(content=text if is_content else None, refusal=None if is_content else text)
    else:
        text, finish = _cut(request, answer.answer)
        finish = answer.finish or finish
        message = ChatReply(content=text, refusal=None)
    n_prompt, n_completion = len(TOKEN.findall(request.question)), len(TOKEN.findall(text))
    return ChatCompletion(
        id=f"chatcmpl-{uuid4().hex}",
        created=int(time()),
        model=answer.model,
        choices=[ChatChoice(message=message, finish_reason=finish, logprobs=ChatLogprobs.of(answer))],
        usage=ChatUsage(
            prompt_tokens=n_prompt, completion_tokens=n_completion, total_tokens=n_prompt + n_completion
        ),
        errata=answer,
    )


def _cut(request: ChatRequest, text: str) -> tuple[str, Finish]:
    """Return the text before the first stop, within the allowed tokens, and the reason of its end."""
    text = text[: min((text.index(stop) for stop in request.stops if stop in text), default=len(text))]
    tokens = TOKEN.findall(text)
    if request.answer_limit is not None and len(tokens) > request.answer_limit:
        return "".join(tokens[: request.answer_limit]), "length"
    return text, "stop"


async def read_pieces(
    request: ChatRequest, items: AsyncIterator[bytes | Outcome]
) -> AsyncIterator[str | ChatCompletion | Outcome]:
    """Yield the parts of the text that cannot change any more, and last the completion or the problem."""
    text = content = ""
    async for item in items:
        if isinstance(item, Outcome):
            is_answer = item.status < 400
            yield build_completion(request, Answer.model_validate_json(item.body)) if is_answer else item
            continue
        text += AnswerDelta.model_validate_json(item).text
        if piece := _settle(request, text)[len(content) :]:
            yield piece
            content += piece


def _settle(request: ChatRequest, text: str) -> str:
    """Return the beginning of an unfinished text that cannot change any more: its end may begin a stop."""
    content, _ = _cut(request, text)
    longest = max(map(len, request.stops), default=1)
    return content if content != text else text[: len(text) - longest + 1].rstrip()


async def _stream(request: ChatRequest, items: AsyncIterator[bytes | Outcome]) -> AsyncIterator[bytes]:
    """Yield events: the role, parts of the text, the end, and with `include_usage` one with the usage alone.

    [DONE] comes last, so that a reader sees whether the stream was cut.
    """
    constant = {"id": f"chatcmpl-{uuid4().hex}", "created": int(time()), "model": request.model}
    encode = partial(_encode, constant, request.wants_usage)
    content = ""
    async for item in read_pieces(request, items):
        if isinstance(item, str):
            if not content:
                yield encode(delta=ChatDelta(role="assistant", content=""))
            yield encode(delta=ChatDelta(content=item))
            content += item
    if isinstance(item, Outcome):
        yield b"data: " + describe_chat_error(item, CHAT).model_dump_json().encode() + b"\n\n"
        return
    assert isinstance(item, ChatCompletion), "it comes last"
    completion, [choice] = item, item.choices
    message = choice.message
    if message.content is None:
        yield encode(delta=ChatDelta(role="assistant", refusal=""))
        yield encode(delta=ChatDelta(refusal=message.refusal))
    else:
        if not content:
            yield encode(delta=ChatDelta(role="assistant", content=""))
        if piece := message.content[len(content) :]:
            yield encode(delta=ChatDelta(content=piece))
    yield encode(
        delta=ChatDelta(), finish=choice.finish_reason, logprobs=choice.logprobs, errata=completion.errata
    )
    if request.wants_usage:
        yield encode(choices=[], usage=completion.usage)
    yield b"data: [DONE]\n\n"


def _encode(
    constant: Mapping[str, object],
    wants_usage: bool,
    delta: ChatDelta | None = None,
    finish: Finish | None = None,
    logprobs: ChatLogprobs | None = None,
    **content: object,
) -> bytes:
    """Write one chunk.

    Fields without a value are left out; `usage` is null until the last chunk, if it was asked for.
    """
    if delta is not None:
        tokens = {} if logprobs is None else {"logprobs": logprobs}
        content["choices"] = [ChatChunkChoice(index=0, delta=delta, finish_reason=finish, **tokens)]
    usage = {"usage": None} if wants_usage else {}
    chunk = ChatChunk.model_validate({"object": "chat.completion.chunk", **constant, **usage, **content})
    return b"data: " + chunk.model_dump_json(exclude_unset=True).encode() + b"\n\n"
