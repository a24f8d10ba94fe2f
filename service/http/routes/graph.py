"""Entities of the graph at any version, and imports, which stream a file in."""

# `from __future__ import annotations` is left out: FastAPI cannot resolve the annotations of a callable object.
import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Annotated, Any

from errata import wire
from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse

from service.editing import operations as calls
from service.errors import ErrataError
from service.http.auth import RequestAccount, get_caller
from service.http.body import (
    read_chunks,
    read_idempotency_key,
)
from service.http.deployment_client import EditorClient
from service.http.middleware.audit import set_outcome, summarize
from service.http.openapi import document, forward
from service.http.responses import NO_BUFFERING, respond
from service.outcome import Outcome

PROGRESS_EVERY_S = 0.5
LINES = "application/x-ndjson"
FILE = {"application/octet-stream": {"schema": {"type": "string"}}}
IMPORT: dict[str, Any] = {
    **document(wire.ImportReceipt, 400, 404, 408, 409, 413, 422, status=201),
    "openapi_extra": {"requestBody": {"required": True, "content": FILE}},
}
IMPORT["responses"] |= {
    200: {"model": wire.ImportReceipt, "description": "Measured; nothing is committed"},
    202: {"model": wire.ImportReceipt, "description": "Committed; not every replica has it yet"},
}


def build_router(editor: EditorClient) -> APIRouter:
    router = APIRouter(tags=["graph"])

    forward(router, editor, "GET /v1/entities", calls.FindEntities, 404)
    forward(router, editor, "GET /v1/entities/{id:path}", calls.GetEntity, 404)
    return router


def build_senses_router(editor: EditorClient) -> APIRouter:
    router = APIRouter(tags=["senses"])
    forward(router, editor, "GET /v1/senses", calls.GetSenses, 404)
    return router


def build_table_router(editor: EditorClient) -> APIRouter:
    router = APIRouter(tags=["graph"])

    forward(router, editor, "GET /admin/graph/relations", calls.ListRelations, 404)
    forward(router, editor, "GET /admin/graph/table", calls.MakeTable, 404, 413, 422)
    return router


def build_import_router(editor: EditorClient) -> APIRouter:
    router = APIRouter(tags=["graph"])

    @router.post("/admin/graph/import", **IMPORT)
    async def import_graph(
        order: Annotated[wire.ImportOrder, Query()], request: Request, account: RequestAccount
    ) -> Response:
        """Import a file of triples, or a table, as one commit. It is TSV (.spo), CSV, an Excel workbook, RDF, or
        Wikidata's JSON lines, each also gzipped. With `Accept: application/x-ndjson` the response tells the progress
        line by line.
        """
        author, key = get_caller(request).name, read_idempotency_key(request)
        summarize(request, f"a file: {order.source or order.format or ''}".rstrip(": "))
        outcome = await editor.call(calls.BeginImport(order, author, key))
        if outcome.status >= 400:
            return respond(outcome)
        session: str = json.loads(outcome.body)["id"]
        is_complete = False
        try:
            async for data in read_chunks(request):
                outcome = await editor.call(calls.FeedImport(session, data))
                if outcome.status >= 400:
                    return respond(outcome)
            await account.confirm()
            is_complete = True
        finally:
            if not is_complete:
                with suppress(ErrataError):
                    await asyncio.shield(editor.call(calls.AbandonImport(session)))
        finishing = asyncio.create_task(
            editor.call(calls.FinishImport(session, order.wait, order.wait_report, key))
        )
        if LINES in request.headers.get("accept", ""):
            lines = _report_progress(editor, session, finishing, request)
            return StreamingResponse(lines, media_type=LINES, headers=NO_BUFFERING)
        return respond(await finishing)

    return router


async def _report_progress(
    editor: EditorClient, session: str, finishing: asyncio.Task[Outcome], request: Request
) -> AsyncIterator[bytes]:
    """Yield progress, and the receipt or the problem last: a stream without it was cut."""
    while not finishing.done():
        progress = b'{"phase":"replicas","done":0}'  # a finished part of the editor waits for the replicas
        with suppress(ErrataError):  # a look that fails ends nothing
            look = await editor.call(calls.GetImport(session))
            progress = look.body if look.status < 400 else progress
        yield b'{"progress":' + progress + b"}\n"
        await asyncio.wait([finishing], timeout=PROGRESS_EVERY_S)
    try:
        outcome = finishing.result()
    except ErrataError as error:
        outcome = Outcome.of(error, None)
    set_outcome(request, outcome)
    kind = b"receipt" if outcome.status < 400 else b"problem"
    yield b'{"' + kind + b'":' + outcome.body + b"}\n"
