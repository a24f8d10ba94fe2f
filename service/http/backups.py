"""GET /admin/export and POST /admin/import: the whole ledger as one file, and back into an empty one."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from tempfile import TemporaryFile
from typing import Any, BinaryIO

from errata.wire import RestoreReceipt
from fastapi import APIRouter, Depends, Request
from fastapi.responses import StreamingResponse

from service.backup import archive
from service.backup.backup import Backup
from service.http.audited import describe
from service.http.callers import Guard
from service.http.imports import chunks
from service.http.models import Models
from service.http.openapi import describes
from service.http.outcomes import UNBUFFERED

LIMIT_S = 30.0
TAR: dict[str, Any] = {archive.MIME: {"schema": {"type": "string", "format": "binary"}}}


def routes(backup: Backup, models: Models, may_admin: Guard) -> APIRouter:
    router = APIRouter(tags=["backup"], dependencies=[Depends(may_admin)])

    @router.get("/admin/export", **_exports())
    async def export(request: Request) -> StreamingResponse:
        """What cannot be made again, as one tar: commits, rows, graph, tags, audit, keys without what opens them."""
        describe(request, "a backup")
        contents = await backup.contents(await _checkpoints(models))
        return StreamingResponse(contents, media_type=archive.MIME, headers=UNBUFFERED)

    @router.post(
        "/admin/import",
        **describes(None, RestoreReceipt, 401, 403, 408, 409, 422, 429, 503, status=201),
        openapi_extra={"requestBody": {"required": True, "content": TAR}},
    )
    async def restore(request: Request) -> RestoreReceipt:
        """Put a backup back into an empty ledger, bit for bit. Nothing is written unless all of it fits together."""
        describe(request, "a restore")
        checkpoints = await _checkpoints(models)
        with TemporaryFile() as file:
            await _spooled(request, file)
            receipt = await backup.restore(file, checkpoints)
        describe(request, f"a restore of {receipt.version:,} versions")
        return receipt

    return router


async def _spooled(request: Request, file: BinaryIO) -> None:
    async for piece in chunks(request):
        await asyncio.to_thread(file.write, piece)


def _exports() -> dict[str, Any]:
    described = describes(None, None, 401, 403, 429, 503)
    described["responses"][200] = {"description": "The file; one without its seal was cut", "content": TAR}
    return described


async def _checkpoints(models: Models) -> Mapping[str, str]:
    """Memory -> what its rows lie on, as far as the models say so."""
    described: dict[str, Any] = await models.each("describe", LIMIT_S)
    memories = [memory for model in described.values() for memory in model.get("memories", ())]
    return {memory["name"]: memory["base"] for memory in memories}
