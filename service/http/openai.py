"""POST /v1/chat/completions: a question in OpenAI's shape, answered as /v1/answers answers it."""

from __future__ import annotations

from typing import Any

from errata.wire import Answer, AnswerRequest
from errata.wire.openai import ChatChunk, ChatCompletion, ChatError, ChatRequest
from fastapi import APIRouter, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import ValidationError

from service.http.body import ANSWER_LIMIT, parsed, refusal
from service.http.completions import chunks, completion
from service.http.models import Models
from service.http.openai_errors import CHAT, refused
from service.http.openapi import EVENTS, describes
from service.http.outcomes import UNBUFFERED

PROBLEMS = (400, 401, 403, 404, 408, 413, 429, 503)


def routes(models: Models) -> APIRouter:
    router = APIRouter(tags=["answers"])

    @router.post(CHAT, **_described())
    async def chat(request: Request) -> Response:
        """Answer the last message of a user. `errata` pins a version, and the reply's `errata` says which answered."""
        asked = await parsed(ChatRequest, request, ANSWER_LIMIT)
        outcome = await models.answer(_question(asked))
        if outcome.status >= 400:
            return refused(outcome, None)
        answered = completion(asked, Answer.model_validate_json(outcome.body))
        if not asked.stream:
            return Response(answered.model_dump_json(), media_type="application/json")
        events = chunks(answered, asked.wants_usage)
        return StreamingResponse(map(_event, [*events, None]), media_type=EVENTS, headers=UNBUFFERED)

    return router


def _question(asked: ChatRequest) -> AnswerRequest:
    """TooLarge or InvalidInput, where the question is no question for /v1/answers either."""
    options = asked.errata.model_dump(exclude_defaults=True)
    try:
        return AnswerRequest(question=asked.question, model=asked.model, **options)
    except ValidationError as error:
        raise refusal(error) from error


def _event(chunk: ChatChunk | None) -> bytes:
    """None is the end, so that a reader sees whether the stream was cut."""
    return (
        b"data: "
        + (b"[DONE]" if chunk is None else chunk.model_dump_json(exclude_unset=True).encode())
        + b"\n\n"
    )


def _described() -> dict[str, Any]:
    described = describes(ChatRequest, ChatCompletion, streams=EVENTS)
    described["responses"] |= {status: {"model": ChatError} for status in PROBLEMS}
    return described
