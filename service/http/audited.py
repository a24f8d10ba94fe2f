"""Notes every call of an admin route in the audit before its answer leaves, whatever becomes of it."""

from __future__ import annotations

import logging
from typing import Any

from fastapi import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.access.audit import Audit, Call
from service.access.caller import Caller
from service.access.rate_limits import Rate, RateLimiter
from service.errors import ErrataError, TooMany
from service.metrics import metrics
from service.replicas.outcome import CODE, VERSION, Outcome

ADMIN = "/admin/"
LONGEST = 500  # characters of what is told of a request
OF_STRANGERS = "600/minute"  # calls of nobody known that are noted; they shall not fill the ledger's Redis
GONE = 499

log = logging.getLogger(__name__)


def describe(request: Request, summary: str) -> None:
    """For the audit: the request in a few words."""
    request.state.summary = summary[:LONGEST]


def ended(request: Request, outcome: Outcome) -> None:
    """For the audit, when the headers have left long before."""
    request.state.ended = outcome


class Audited:
    def __init__(self, app: ASGIApp, audit: Audit) -> None:
        self._app, self._audit = app, audit
        self._strangers = RateLimiter(Rate.parse(OF_STRANGERS), None, 1.0)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith(ADMIN):
            await self._app(scope, receive, send)
            return
        await _Watch(scope, send, self._audit, self._strangers).run(self._app, receive)


class _Watch:
    """Of one call."""

    def __init__(self, scope: Scope, send: Send, audit: Audit, strangers: RateLimiter) -> None:
        self._scope, self._send, self._audit, self._strangers = scope, send, audit, strangers
        self._status, self._headers, self._noted = GONE, dict[str, str](), False

    async def run(self, app: ASGIApp, receive: Receive) -> None:
        try:
            await app(self._scope, receive, self._note)
        except Exception:
            self._status = 500
            raise
        finally:
            await self._write()

    async def _note(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
            self._headers = {name.decode(): value.decode() for name, value in message["headers"]}
        if message["type"] == "http.response.body" and not message.get("more_body", False):
            await self._write()
        await self._send(message)

    async def _write(self) -> None:
        if self._noted:
            return
        self._noted = True
        call = self._call()
        try:
            if call.by is None:
                await self._strangers.count("all of them")
            await self._audit.append(call)
        except TooMany:
            log.warning("more than %s calls of nobody known: not in the audit", OF_STRANGERS)
        except ErrataError as error:  # the answer is what it is; what cannot be kept is told where it can be
            metrics.AUDIT_LOST.inc()
            log.error("not in the audit (%s): %s", error.code, call.model_dump_json(exclude_none=True))

    def _call(self) -> Call:
        state: dict[str, Any] = self._scope.get("state", {})
        caller: Caller | None = state.get("caller")
        client = self._scope.get("client")
        ended: Outcome | None = state.get("ended")
        headers: dict[str, Any] = self._headers | dict(ended.headers if ended else {})
        return Call(
            name=caller.name if caller else "",
            by=caller.by if caller else None,
            address=client[0] if client else "",
            method=self._scope["method"],
            path=self._scope["path"][:LONGEST],
            summary=state.get("summary", ""),
            status=ended.status if ended else self._status,
            request=state.get("request"),
            code=headers.get(CODE),
            version=headers.get(VERSION),
        )
