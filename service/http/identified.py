"""Gives every request an id that its answer, the logs and the audit name, or takes the one that its sender gave it."""

from __future__ import annotations

import re
from uuid import uuid4

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.logs import request_id
from service.tracing import set_attributes

HEADER = "x-request-id"
USABLE = re.compile(r"[\w.:@+/=-]{1,128}")


class Identified:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = Headers(scope=scope).get(HEADER, "")
        own = given if USABLE.fullmatch(given) else uuid4().hex
        scope.setdefault("state", {})["request"] = own
        token = request_id.set(own)
        set_attributes(**{"errata.request": own})

        async def name(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).setdefault(HEADER, own)
            await send(message)

        try:
            await self._app(scope, receive, name)
        finally:
            request_id.reset(token)
