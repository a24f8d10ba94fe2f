"""Records every call of an admin route and every change of a document in the audit, whatever its outcome.

A change is written before its answer leaves.
"""

from __future__ import annotations

import logging
from typing import Any

from fastapi import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.access.audit.audit import Audit
from service.access.audit.call import CLIENT_GONE, READ_METHODS, Call
from service.access.caller import Caller
from service.concurrency import finish, run_to_end
from service.http.errors import ADMIN
from service.logs import WITHOUT_LIMIT
from service.metrics import metrics
from service.outcome import CODE, VERSION, Outcome

MAX_CHARS = 500  # characters of a request's summary and path
MAX_METHOD_CHARS = 16
DOCUMENTS = "/v1/documents/"
HANG_UP_S = 2.0  # seconds for a change to end after its caller hung up, and to be recorded with it

log = logging.getLogger(__name__)


def summarize(request: Request, summary: str) -> None:
    """Set the audit's summary of a request, in a few words."""
    request.state.summary = summary[:MAX_CHARS]


def set_outcome(request: Request, outcome: Outcome) -> None:
    """Set the audit's outcome of a request whose headers have left long before."""
    request.state.outcome = outcome


class AuditMiddleware:
    def __init__(self, app: ASGIApp, audit: Audit) -> None:
        self._app, self._audit = app, audit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not _is_audited(scope):
            await self._app(scope, receive, send)
            return
        status, headers = CLIENT_GONE, dict[str, str]()
        is_written, is_received, is_given_up = False, False, False

        async def write() -> None:
            nonlocal is_written
            if not is_written:
                is_written = True
                await finish(self._write(_describe(scope, status, headers)))  # even if the client hangs up

        async def receive_noting_end() -> Message:
            nonlocal is_received
            message = await receive()
            if is_given_up:
                return {"type": "http.disconnect"}
            is_received = is_received or (message["type"] == "http.request" and not message.get("more_body"))
            return message

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
                await self._app(scope, receive_noting_end, send_after_writing)
            except Exception:
                status = 500 if status == CLIENT_GONE else status
                raise
            finally:
                await write()

        def give_up() -> float:
            """Return the seconds for which a call goes on after its caller hung up.

            A call that has no body yet gets none, even if it swallows its cancellation, as redis-py does at times.
            """
            nonlocal is_given_up
            is_given_up = not is_received
            return HANG_UP_S if is_received and scope["method"] not in READ_METHODS else 0.0

        await run_to_end(call(), give_up)

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


def _is_audited(scope: Scope) -> bool:
    """Return whether a call is of an admin route or changes a document."""
    path: str = scope["path"]
    return path.startswith(ADMIN) or (path.startswith(DOCUMENTS) and scope["method"] not in READ_METHODS)


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
