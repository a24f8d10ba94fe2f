"""POST /v1/answers and /v1/answers/batch. Kept thin: one process does this for all replicas."""

from __future__ import annotations

from typing import Any

from errata.wire import Answer, AnswerRequest, BatchRequest, BatchResponse
from fastapi import APIRouter, Request, Response
from pydantic import ValidationError

from service.http.body import ANSWER_LIMIT, parsed, refusal
from service.http.models import Models
from service.http.openapi import EVENTS, describes
from service.http.outcomes import respond, sent, stream
from service.replicas.outcome import Outcome

BATCH = "/v1/answers/batch"


def routes(models: Models) -> APIRouter:
    router = APIRouter(tags=["answers"])

    @router.post(
        "/v1/answers",
        **describes(AnswerRequest, Answer, 400, 401, 403, 404, 408, 413, 422, 429, 503, streams=EVENTS),
    )
    async def answer(request: Request) -> Response:
        """Answer one question. `version` pins a version, `min_version` waits for one; `stream` sends events."""
        asked = await parsed(AnswerRequest, request, ANSWER_LIMIT)
        outcome = await models.answer(asked)
        return stream(outcome) if asked.stream else respond(outcome)

    @router.get("/v1/answers", **describes(None, Answer, 401, 403, 404, 413, 422, 429, 503))
    async def look(question: str, model: str = "nkb", version: int | None = None) -> Response:
        """Answer one question, as a link in a report asks it: `version` pins a version."""
        return respond(await models.answer(_asked(question=question, model=model, version=version)))

    @router.post(BATCH, **describes(BatchRequest, BatchResponse, 400, 401, 403, 408, 413, 422, 429, 503))
    async def batch(request: Request) -> Response:
        """Answer up to 256 questions, each as /v1/answers would; a bad one has its problem in its place."""
        asked = await parsed(BatchRequest, request, ANSWER_LIMIT)
        checked = [_checked(item) for item in asked.questions]
        answered = iter(await models.answer_many([one for one in checked if isinstance(one, AnswerRequest)]))
        outcomes = [next(answered) if isinstance(one, AnswerRequest) else one for one in checked]
        return sent(200, b'{"results":[' + b",".join(map(_result, outcomes)) + b"]}", {})

    return router


def _asked(**fields: object) -> AnswerRequest:
    try:
        return AnswerRequest.model_validate(fields)
    except ValidationError as error:
        raise refusal(error) from error


def _checked(item: Any) -> AnswerRequest | Outcome:
    try:
        return AnswerRequest.model_validate(item)
    except ValidationError as error:
        return Outcome.of(refusal(error), BATCH)


def _result(outcome: Outcome) -> bytes:
    """A BatchResult around bytes that are JSON already."""
    if outcome.status < 400:
        return b'{"answer":' + outcome.body + b',"problem":null}'
    return b'{"answer":null,"problem":' + outcome.body + b"}"
