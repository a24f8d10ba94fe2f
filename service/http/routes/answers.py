"""POST /v1/answers and /v1/answers/batch. They do little work: one process serves all replicas."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from errata.wire import Answer, AnswerRequest, BatchRequest, BatchResponse
from fastapi import APIRouter, Response
from pydantic import ValidationError

from service.errors import ErrataError, InvalidInput
from service.http.auth import Account, RequestAccount
from service.http.auto import AnyQuestion, AutoRouter
from service.http.body import ASKING, MAX_COMPLAINTS, describe_invalid, json_body
from service.http.openapi import document
from service.http.responses import EVENTS, respond, respond_bytes, stream
from service.outcome import Outcome

BATCH = "/v1/answers/batch"
ITEMS_PER_TURN = 4  # Items of a batch that are checked before others have a turn on the event loop

AnswerBody = Annotated[AnswerRequest, json_body(AnswerRequest, ASKING)]
BatchBody = Annotated[BatchRequest, json_body(BatchRequest, ASKING)]


def build_router(models: AutoRouter) -> APIRouter:
    router = APIRouter(tags=["answers"])

    @router.post("/v1/answers", **document(Answer, 404, streams=EVENTS))
    async def ask(body: AnswerBody, account: RequestAccount) -> Response:
        """Answer one question. `version` pins a version, `min_version` waits for one; `stream` sends events."""
        question = await models.prepare(body, account)
        await account.charge(question.work)
        if body.stream:
            return await stream(models.stream(question))
        return respond(await models.answer(question))

    @router.get("/v1/answers", **document(Answer, 404, 413))
    async def ask_by_link(
        question: str, account: RequestAccount, model: str | None = None, version: int | None = None
    ) -> Response:
        """Answer one question, as a link in a report asks it: `version` pins a version."""
        fields = {"question": question, "model": model, "version": version}
        return respond(await models.answer(await prepare_query(models, account, fields)))

    @router.post(BATCH, **document(BatchResponse))
    async def ask_many(body: BatchBody, account: RequestAccount) -> Response:
        """Answer up to 256 questions, each as /v1/answers would. A bad one has its problem in its place; if none can be
        read, all are refused.
        """
        await account.charge(n_items := len(body.questions))
        items = await _prepare_all(models, body.questions, account)
        questions = [item for item in items if not isinstance(item, Outcome)]
        if not questions:
            bodies = [json.loads(item.body) for item in items if isinstance(item, Outcome)]
            errors = [error for body in bodies for error in body.get("errors", ())][:MAX_COMPLAINTS]
            raise InvalidInput(f"no question can be read: {bodies[0]['detail']}", errors=errors)
        work = n_items - len(questions) + sum(question.work for question in questions)
        await account.charge(work, n_paid=n_items)
        outcomes = iter(await models.answer_many(questions))
        results = [_encode(item if isinstance(item, Outcome) else next(outcomes)) for item in items]
        return respond_bytes(200, b'{"results":[' + b",".join(results) + b"]}", {})

    return router


async def _prepare_all(
    models: AutoRouter, contents: Sequence[Any], account: Account
) -> list[AnyQuestion | Outcome]:
    items: list[AnyQuestion | Outcome] = []
    for place, content in enumerate(contents):
        try:
            items.append(await models.prepare(_parse(content, place), account))
        except ErrataError as error:
            items.append(Outcome.of(error, BATCH))
        if place % ITEMS_PER_TURN == 0:
            await asyncio.sleep(0)
    return items


def _parse(item: Any, place: int) -> AnswerRequest:
    try:
        return AnswerRequest.model_validate(item)
    except ValidationError as error:
        raise describe_invalid(error, of=("questions", str(place))) from error


def _encode(outcome: Outcome) -> bytes:
    """Return a BatchResult around bytes that are JSON already."""
    if outcome.status < 400:
        return b'{"answer":' + outcome.body + b',"problem":null}'
    return b'{"answer":null,"problem":' + outcome.body + b"}"


async def prepare_query(models: AutoRouter, account: Account, fields: Mapping[str, Any]) -> AnyQuestion:
    """Return the question of a query, for which its caller was charged."""
    try:
        request = AnswerRequest.model_validate(fields)
    except ValidationError as error:
        raise describe_invalid(error, in_query=True) from error
    question = await models.prepare(request, account)
    await account.charge(question.work)
    return question
