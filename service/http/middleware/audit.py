"""Records every call of an admin route and every change of a document in the audit, whatever its outcome.

A change is written before its answer leaves.
"""

from __future__ import annotations

import logging
from typing import Any

from fastapi import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.access.audit.audit import Audit
from service.access.audit.calls import CLIENT_GONE, READ_METHODS, Call
from service.access.caller import Caller
from service.concurrency import finish, run_to_end
from service.http.failures import ADMIN
from service.logs import WITHOUT_LIMIT
from service.metrics import metrics
from service.outcome import CODE, VERSION, Outcome

MAX_CHARS = 500  # characters of a request's summary and path
MAX_METHOD_CHARS = 16
DOCUMENTS = "/v1/documents/"
HANG_UP_S = 2.0  # seconds for a change to end after its caller hung up, and to be recorded with it

log = logging.getLogger(__name__)


def summarize(request: Request, summary: str) -> None:
    request.state.summary = summary[:MAX_CHARS]


def set_outcome(request: Request, outcome: Outcome) -> None:
    """Set the audit's outcome of a request whose headers have left long before."""
    request.state.outcome = outcome


class AuditMiddleware:
    def __init__(self, app: ASGIApp, audit: Audit) -> None:
        self._app, self._audit = app, audit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        may_change = scope["type"] == "http" and scope["method"] not in READ_METHODS
        prefixes = (ADMIN, DOCUMENTS) if may_change else ADMIN
        if scope["type"] != "http" or not scope["path"].startswith(prefixes):
            await self._app(scope, receive, send)
            return
        status, headers, is_written = CLIENT_GONE, dict[str, str](), False
        body = _Body(receive)

        async def write() -> None:
            nonlocal is_written
            if not is_written:
                is_written = True
                await finish(self._write(_describe(scope, status, headers)))  # even if the client hangs up

        async def send_after_writing(message: Message) -> None:
            nonlocal status, headers
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = {name.decode(): value.decode() for name, value in message["headers"]}
            if message["type"] == "http.response.body" and not message.get("more_body", False):
                await write()
            await send(message)

        async def call() -> None:
            nonlocal status
            try:
                await self._app(scope, body.receive, send_after_writing)
            except Exception:
                status = 500 if status == CLIENT_GONE else status
                raise
            finally:
                await write()

        await run_to_end(call(), lambda: HANG_UP_S if body.keep_or_give_up() and may_change else 0.0)

    async def _write(self, call: Call) -> None:
        """Write the entry. The answer leaves even if that fails, for the change has been made."""
        try:
            await self._audit.record(call)
        except BaseException as error:  # a cancellation counts, too: the entry is lost in any case
            metrics.AUDIT_LOST.inc()
            entry = call.model_dump_json(exclude_none=True)
            log.error("not in the audit (%s): %s", type(error).__name__, entry, extra=WITHOUT_LIMIT)
            if not isinstance(error, Exception):
                raise


class _Body:
    """The body of a call. If its caller hangs up before its end, the call never gets it, and changes nothing."""

    def __init__(self, receive: Receive) -> None:
        self._receive, self._is_whole, self._is_given_up = receive, False, False

    async def receive(self) -> Message:
        """Receive a part. A call may ask once more after its cancellation, which redis-py swallows at times."""
        message = await self._receive()
        if self._is_given_up:
            return {"type": "http.disconnect"}
        self._is_whole |= message["type"] == "http.request" and not message.get("more_body")
        return message

    def keep_or_give_up(self) -> bool:
        """Return whether the body was received whole; if not, no further part is received."""
        self._is_given_up = not self._is_whole
        return self._is_whole


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
        method=scope["method"][:MAX_METHOD_CHARS],
        path=scope["path"][:MAX_CHARS],
        summary=state.get("summary", ""),
        status=outcome.status if outcome else status,
        request=state.get("request_id"),
        code=codes.get(CODE),
        version=codes.get(VERSION),
    )
