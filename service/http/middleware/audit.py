"""Writes every call of an admin route into the audit before its answer leaves, whatever becomes of it."""

from __future__ import annotations

import logging
from typing import Any

from fastapi import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.access.audit import Audit, Call
from service.access.caller import Caller
from service.access.rate_limits import Rate, RateLimiter
from service.concurrency import finish
from service.errors import ErrataError, TooMany
from service.metrics import metrics
from service.outcome import CODE, VERSION, Outcome

ADMIN = "/admin/"
MAX_CHARS = 500  # of a request's summary and path
STRANGER_RATE = "600/minute"  # of written calls without a valid key, which shall not fill the ledger's Redis
CLIENT_GONE = 499

log = logging.getLogger(__name__)


def summarize(request: Request, summary: str) -> None:
    """Set what the audit says of a request, in a few words."""
    request.state.summary = summary[:MAX_CHARS]


def set_outcome(request: Request, outcome: Outcome) -> None:
    """Set what the audit says became of a request, where its headers have left long before."""
    request.state.outcome = outcome


class AuditMiddleware:
    def __init__(self, app: ASGIApp, audit: Audit) -> None:
        self._app, self._audit = app, audit
        self._strangers = RateLimiter(Rate.parse(STRANGER_RATE), None, 1.0)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith(ADMIN):
            await self._app(scope, receive, send)
            return
        status, headers, is_written = CLIENT_GONE, dict[str, str](), False

        async def write() -> None:
            nonlocal is_written
            if not is_written:
                is_written = True
                await finish(self._write(_describe(scope, status, headers)))  # also when the client hangs up

        async def send_after_writing(message: Message) -> None:
            nonlocal status, headers
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = {name.decode(): value.decode() for name, value in message["headers"]}
            if message["type"] == "http.response.body" and not message.get("more_body", False):
                await write()
            await send(message)

        try:
            await self._app(scope, receive, send_after_writing)
        except Exception:
            status = 500
            raise
        finally:
            await write()

    async def _write(self, call: Call) -> None:
        """The answer leaves even when the entry cannot be written: a commit that was made is made."""
        try:
            if call.by is None:
                await self._strangers.count("all of them")
            await self._audit.append(call)
        except TooMany:
            log.warning("more than %s calls of nobody known: not in the audit", STRANGER_RATE)
        except ErrataError as error:
            metrics.AUDIT_LOST.inc()
            log.error("not in the audit (%s): %s", error.code, call.model_dump_json(exclude_none=True))


def _describe(scope: Scope, status: int, headers: dict[str, str]) -> Call:
    state: dict[str, Any] = scope.get("state", {})
    caller: Caller | None = state.get("caller")
    outcome: Outcome | None = state.get("outcome")
    client = scope.get("client")
    codes: dict[str, Any] = headers | dict(outcome.headers if outcome else {})
    return Call(
        name=caller.name if caller else "",
        by=caller.by if caller else None,
        address=client[0] if client else "",
        method=scope["method"],
        path=scope["path"][:MAX_CHARS],
        summary=state.get("summary", ""),
        status=outcome.status if outcome else status,
        request=state.get("request_id"),
        code=codes.get(CODE),
        version=codes.get(VERSION),
    )
