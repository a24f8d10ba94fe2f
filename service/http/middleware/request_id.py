"""Gives every request an id that its answer, the logs and the audit name; a sender may choose it."""

from __future__ import annotations

import re
from uuid import uuid4

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.logs import request_id
from service.tracing import set_attributes

HEADER = "x-request-id"
USABLE = re.compile(r"[\w.:@+/=-]{1,128}")


class RequestIdMiddleware:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        sender_id = Headers(scope=scope).get(HEADER, "")
        id = sender_id if USABLE.fullmatch(sender_id) else uuid4().hex
        scope.setdefault("state", {})["request_id"] = id
        token = request_id.set(id)
        set_attributes(**{"errata.request": id})

        async def send_with_id(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).setdefault(HEADER, id)
            await send(message)

        try:
            await self._app(scope, receive, send_with_id)
        finally:
            request_id.reset(token)
