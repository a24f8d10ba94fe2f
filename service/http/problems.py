"""The one error handler: whatever goes wrong leaves as an RFC 9457 problem document with a stable code."""

from __future__ import annotations

import logging
from http import HTTPStatus

from errata.wire import Problem
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.routing import Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.errors import ErrataError, Internal, InvalidInput, NotFound, TooSlow, Unauthorized
from service.http import openai_errors
from service.http.body import MOST_COMPLAINTS, complaint
from service.http.outcomes import respond
from service.replicas.outcome import Outcome

GONE = 499  # nobody reads it; the request is counted under it
VERBS = ("DELETE", "GET", "HEAD", "PATCH", "POST", "PUT")
HEADERS: dict[type[ErrataError], dict[str, str]] = {
    Unauthorized: {"www-authenticate": 'Bearer realm="errata"'},
    TooSlow: {"connection": "close"},  # what is left of the body would be read as the next request
}

log = logging.getLogger(__name__)


def install(app: FastAPI) -> None:
    @app.exception_handler(ErrataError)
    async def ours(request: Request, error: ErrataError) -> Response:
        return _answered(request, error)

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        found = error.errors()[:MOST_COMPLAINTS]
        said = "; ".join(complaint(tuple(one["loc"][1:]), one["msg"]) for one in found)
        return _answered(request, InvalidInput(said))

    @app.exception_handler(HTTPException)
    async def routing(request: Request, error: HTTPException) -> Response:
        return _unrouted(request, error)

    @app.exception_handler(ClientDisconnect)
    async def gone(request: Request, error: ClientDisconnect) -> Response:
        return Response(status_code=GONE)

    app.add_middleware(_Unforeseen)


class _Unforeseen:
    """Innermost, so that what nobody foresaw is measured, noted and sent as every other answer is."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = False

        async def noted(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self._app(scope, receive, noted)
        except Exception as error:
            if begun or scope["type"] != "http":
                raise
            request = Request(scope)
            log.error("%s %s failed", request.method, request.url.path, exc_info=error)
            problem = _answered(request, Internal("an error of the service's own; its log says more"))
            await problem(scope, receive, send)


def _answered(request: Request, error: ErrataError) -> Response:
    response = _shaped(request, Outcome.of(error, request.url.path), error.__cause__)
    response.headers.update(HEADERS.get(type(error), {}))
    return response


def _unrouted(request: Request, error: HTTPException) -> Response:
    """What the router itself refuses: paths and methods that do not exist."""
    path = request.url.path
    if error.status_code == HTTPStatus.NOT_FOUND:
        return _answered(request, NotFound(f"there is nothing at {path}: /docs lists what there is"))
    title = HTTPStatus(error.status_code).phrase
    detail = f"{request.method} is not for {path}: /docs lists what is" if _is_method(error) else error.detail
    code = title.lower().replace(" ", "_")
    problem = Problem(title=title, status=error.status_code, code=code, detail=detail, instance=path)
    body = problem.model_dump_json().encode()
    headers = {"allow": _allowed(request)} if _is_method(error) else dict(error.headers or {})
    return _shaped(request, Outcome(error.status_code, body, headers), None)


def _shaped(request: Request, outcome: Outcome, cause: BaseException | None) -> Response:
    """A problem document, but on the path whose clients are OpenAI's."""
    if request.url.path == openai_errors.CHAT:
        return openai_errors.refused(outcome, cause)
    return respond(outcome)


def _is_method(error: HTTPException) -> bool:
    return error.status_code == HTTPStatus.METHOD_NOT_ALLOWED


def _allowed(request: Request) -> str:
    """Every verb of this path: the router names those of the first of its routes alone."""
    return ", ".join(verb for verb in VERBS if _answers(request, verb))


def _answers(request: Request, verb: str) -> bool:
    scope = {**request.scope, "method": verb}
    return any(route.matches(scope)[0] is Match.FULL for route in request.app.routes)
