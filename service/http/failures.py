"""Every failure as a response: the one error handler makes of it an RFC 9457 problem document with a stable code.

One path uses OpenAI's shape instead, in which OpenAI's clients find the sentence and the code. /v1/models has other
clients, too, and uses problem documents, since OpenAI's client reads the status and finds `code` in them, too.
"""

from __future__ import annotations

import json
import logging
from functools import partial
from http import HTTPStatus
from urllib.parse import unquote

from errata.wire import Problem
from errata.wire.mistakes import name_parameter
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.routing import Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.access.audit.calls import CLIENT_GONE
from service.access.caller import ANONYMOUS
from service.errors import ErrataError, Internal, InvalidInput, NotFound, TooMany, TooSlow, Unauthorized
from service.http.auth import get_source
from service.http.body import MAX_COMPLAINTS
from service.http.openai.replies import ChatError, ChatProblem
from service.http.openai.requests import ChatRequest
from service.http.openai.rest import ANY_PATH
from service.http.responses import respond
from service.outcome import Outcome

ADMIN, CHAT, RESPONSES = "/admin/", "/v1/chat/completions", "/v1/responses"
OPENAI_SUBSTITUTES = {
    "/v1/completions": f"a question is asked by POST {CHAT}, as a message of a user",
    "/v1/embeddings": f"no model here gives embeddings; POST {CHAT} answers questions",
}
"""What there is in place of what OpenAI's clients know, by path."""
QUESTION_FIELDS = {CHAT: "messages", RESPONSES: "input"}  # field with the question, by path
CHAT_ERROR_TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
VERBS = ("DELETE", "GET", "HEAD", "PATCH", "POST", "PUT")
HEADERS: dict[type[ErrataError], dict[str, str]] = {
    Unauthorized: {"www-authenticate": 'Bearer realm="errata"'},
    TooSlow: {"connection": "close"},  # the rest of the body would be read as the next request
}

log = logging.getLogger(__name__)


def install_handlers(app: FastAPI) -> None:
    @app.exception_handler(ErrataError)
    async def errata_error(request: Request, error: ErrataError) -> Response:
        return respond_error(request, error)

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        faults = [
            name_parameter({**mistake, "loc": mistake["loc"][1:]})
            for mistake in error.errors()[:MAX_COMPLAINTS]
        ]
        detail = "; ".join(f"{fault.parameter}: {fault.detail}" for fault in faults)
        errors = [fault.model_dump(exclude_none=True) for fault in faults]
        return respond_error(request, InvalidInput(detail, errors=errors))

    @app.exception_handler(HTTPException)
    async def routing(request: Request, error: HTTPException) -> Response:
        path = request.url.path
        if path.startswith(ADMIN):  # no guard has counted a request without a route
            try:
                await request.app.state.access.gate.charge(ANONYMOUS, get_source(request), 1)
            except TooMany as refusal:
                return respond_error(request, refusal)
        if error.status_code == HTTPStatus.NOT_FOUND:
            advice = OPENAI_SUBSTITUTES.get(path, "/docs lists what there is")
            detail = f"there is nothing at {path}: {advice}"
            return respond_error(request, NotFound(detail))
        title, detail, headers = HTTPStatus(error.status_code).phrase, error.detail, dict(error.headers or {})
        if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
            detail = f"{request.method} is not for {path}: /docs lists what is"
            headers = {"allow": ", ".join(filter(partial(_has_route, request), VERBS))}
        code = title.lower().replace(" ", "_")
        problem = Problem.of_kind(code, title, error.status_code, detail, path)
        outcome = Outcome(error.status_code, problem.model_dump_json().encode(), headers)
        return _shape(request, outcome)

    @app.exception_handler(ClientDisconnect)
    async def client_gone(request: Request, error: ClientDisconnect) -> Response:
        return Response(status_code=CLIENT_GONE)

    app.add_middleware(UnexpectedErrorMiddleware)


def _has_route(request: Request, verb: str) -> bool:
    """Return True if a route of the path takes the verb; the router itself looks at the first route alone.

    The route of all paths of upstreams is left out.
    """
    scope = {**request.scope, "method": "GET" if verb == "HEAD" else verb}
    routes = (route for route in request.app.routes if getattr(route, "path", "") != ANY_PATH)
    return any(route.matches(scope)[0] is Match.FULL for route in routes)


class UnexpectedErrorMiddleware:
    """The innermost middleware, so that an unexpected error is measured, audited and sent like every other answer."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        has_begun = False

        async def send_noting_start(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        try:
            await self._app(scope, receive, send_noting_start)
        except Exception as error:
            if has_begun or scope["type"] != "http":
                raise
            request = Request(scope)
            log.error("%s %s failed", request.method, request.url.path, exc_info=error)
            problem = respond_error(request, Internal("an error of the service's own; its log says more"))
            await problem(scope, receive, send)


def respond_error(request: Request, error: ErrataError) -> Response:
    response = _shape(request, Outcome.of(error, request.url.path))
    response.headers.update(HEADERS.get(type(error), {}))
    return response


def _shape(request: Request, outcome: Outcome) -> Response:
    """Return a problem document, or OpenAI's shape on the paths of its clients."""
    if request.url.path in (CHAT, RESPONSES) or request.url.path in OPENAI_SUBSTITUTES:
        return respond_chat_error(outcome, request.url.path)
    return respond(outcome)


def respond_chat_error(outcome: Outcome, path: str) -> Response:
    """Return a problem in OpenAI's shape.

    A wrong field is 400 here, as OpenAI answers; its clients know no other status as their mistake.
    """
    status = 400 if outcome.status == 422 else outcome.status
    body = describe_chat_error(outcome, path).model_dump_json()
    return Response(body, status, dict(outcome.headers), "application/json")


def describe_chat_error(outcome: Outcome, path: str) -> ChatError:
    problem, status = Problem.model_validate_json(outcome.body), outcome.status
    kind = CHAT_ERROR_TYPES.get(status, "server_error" if status >= 500 else "invalid_request_error")
    named_field = json.loads(outcome.body).get("field")
    field = named_field if named_field in ChatRequest.model_fields else None
    message = problem.detail
    if problem.errors:  # the first wrong field; the question stands in another one here
        name = unquote(problem.errors[0].pointer or "").removeprefix("#/").replace("/", ".")
        field = {"#": None, "question": QUESTION_FIELDS.get(path)}.get(name, name)
        if name == "question":
            message = message.replace("question: ", f"{field}: ", 1)
    return ChatError(error=ChatProblem(message=message, type=kind, param=field, code=problem.code))
