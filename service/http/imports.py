"""POST /admin/graph/import: the body streams through to the editor, which reads it at its own pace."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from time import monotonic
from typing import Annotated, Any

from errata.wire import ImportOrder, ImportReceipt
from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import StreamingResponse

from service.errors import ErrataError, TooSlow
from service.http.audited import describe, ended
from service.http.callee import Callee
from service.http.callers import Guard, caller
from service.http.openapi import describes
from service.http.outcomes import UNBUFFERED, respond
from service.http.writes import REFUSALS, repetition
from service.replicas.outcome import Outcome

CHUNK = 1_000_000  # bytes that cross to the editor together
AT_LEAST_S = 10.0  # what a slow sender has sent crosses, so that the editor knows that it lives
SILENCE_S = 60.0  # between two pieces of the body
FEED_S = 120.0
FINISH_S = 3_600.0
LOOK_EVERY_S = 0.5
LINES = "application/x-ndjson"


def routes(editor: Callee, may_edit: Guard) -> APIRouter:
    router = APIRouter(tags=["graph"], dependencies=[Depends(may_edit)])

    @router.post("/admin/graph/import", **_described())
    async def load(order: Annotated[ImportOrder, Query()], request: Request) -> Response:
        """Import a file of triples (.spo or TSV, CSV, N-Triples, Wikidata's JSON lines, each also gzipped) as one
        commit. With `Accept: application/x-ndjson` the response tells the progress line by line.
        """
        who, repeats = caller(request).name, repetition(request)
        plain = order.model_dump(mode="json")
        describe(request, f"a file: {order.source or order.format or ''}".rstrip(": "))
        begun: Outcome = await editor.call("import_begin", plain, who, repeats, limit_s=FEED_S)
        if begun.status >= 400:
            return respond(begun)
        session: str = json.loads(begun.body)["import"]
        refused = await _fed(editor, session, request)
        if refused is not None:
            return respond(refused)
        finishing = asyncio.create_task(editor.call("import_finish", session, order.wait, limit_s=FINISH_S))
        if LINES in request.headers.get("accept", ""):
            lines = _lines(editor, session, finishing, request)
            return StreamingResponse(lines, media_type=LINES, headers=UNBUFFERED)
        return respond(await finishing)

    return router


async def _fed(editor: Callee, session: str, request: Request) -> Outcome | None:
    """What the file is refused with; None when all of it has arrived."""
    complete = False
    try:
        async for data in chunks(request):
            told: Outcome = await editor.call("import_feed", session, data, limit_s=FEED_S)
            if told.status >= 400:
                return told
        complete = True
    finally:
        if not complete:
            with suppress(ErrataError):
                await asyncio.shield(editor.call("import_abandon", session, limit_s=FEED_S))
    return None


async def chunks(request: Request) -> AsyncIterator[bytes]:
    """The body, some of it at a time. ClientDisconnect when the sender is gone, TooSlow when it is silent."""
    waiting, due = bytearray(), monotonic() + AT_LEAST_S
    stream = request.stream()
    while True:
        try:
            async with asyncio.timeout(SILENCE_S):
                waiting += await anext(stream)
        except StopAsyncIteration:
            break
        except TimeoutError as error:
            raise TooSlow(f"nothing came for {SILENCE_S:g} s: nothing was imported; send it again") from error
        if len(waiting) >= CHUNK or monotonic() > due:
            yield bytes(waiting)
            waiting.clear()
            due = monotonic() + AT_LEAST_S
    if waiting:
        yield bytes(waiting)


async def _lines(
    editor: Callee, session: str, finishing: asyncio.Task[Outcome], request: Request
) -> AsyncIterator[bytes]:
    """Progress, and the receipt or the problem last: a stream without it was cut."""
    while not finishing.done():
        yield b'{"progress":' + await _progress(editor, session) + b"}\n"
        await asyncio.wait([finishing], timeout=LOOK_EVERY_S)
    try:
        outcome = finishing.result()
    except ErrataError as error:
        outcome = Outcome.of(error, None)
    ended(request, outcome)
    kind = b"receipt" if outcome.status < 400 else b"problem"
    yield b'{"' + kind + b'":' + outcome.body + b"}\n"


async def _progress(editor: Callee, session: str) -> bytes:
    """What is not in the editor's hands any more waits for the replicas; one look that fails ends nothing."""
    with suppress(ErrataError):
        told: Outcome = await editor.call("import_progress", session, limit_s=FEED_S)
        if told.status < 400:
            return told.body
    return b'{"phase":"replicas","done":0}'


def _described() -> dict[str, Any]:
    described = describes(None, ImportReceipt, *REFUSALS, status=201)
    described["responses"][202] = {
        "model": ImportReceipt,
        "description": "Committed; not every replica has it yet",
    }
    described["openapi_extra"] = {
        "requestBody": {
            "required": True,
            "content": {"application/octet-stream": {"schema": {"type": "string"}}},
        }
    }
    return described
