"""The admin routes of backups.

GET /admin/export gives the whole ledger as one file, and POST /admin/import puts it back into an empty one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from tempfile import TemporaryFile
from typing import Any

from errata import wire
from fastapi import APIRouter, Request
from fastapi.responses import StreamingResponse

from service.backup import archive
from service.backup.backup import Backup
from service.errors import TooLarge, TooMany
from service.http.body import read_chunks
from service.http.middleware.audit import summarize
from service.http.model_router import ModelRouter
from service.http.openapi import document
from service.http.responses import NO_BUFFERING

TAR: dict[str, Any] = {archive.MIME: {"schema": {"type": "string", "format": "binary"}}}
EXPORT: dict[str, Any] = document(None)
EXPORT["responses"][200] = {"description": "The file; one without its seal was cut", "content": TAR}


def build_backup_router(backup: Backup, models: ModelRouter, max_bytes: int) -> APIRouter:
    """Build the routes; `max_bytes` bounds a backup that is restored."""
    router, restoring = APIRouter(tags=["backup"]), asyncio.Lock()

    @router.get("/admin/export", **EXPORT)
    async def export_backup(request: Request) -> StreamingResponse:
        """Return everything that cannot be rebuilt, as one tar: commits, rows, graph, tags, audit, digests of keys."""
        summarize(request, "a backup")
        contents = await backup.contents(await _read_checkpoints(models))
        return StreamingResponse(contents, media_type=archive.MIME, headers=NO_BUFFERING)

    @router.post(
        "/admin/import",
        **document(wire.RestoreReceipt, 408, 409, 413, 422, status=201),
        openapi_extra={"requestBody": {"required": True, "content": TAR}},
    )
    async def restore_backup(request: Request, with_keys: bool = False) -> wire.RestoreReceipt:
        """Put a backup back into an empty ledger, bit for bit. It is written only if all of it fits together.

        `with_keys`: its keys are valid again, including those that were revoked after it was made. Otherwise they are
        invalid until they are rotated.
        """
        summarize(request, "a restore")
        if restoring.locked():
            raise TooMany("a backup is being restored: wait until it is done")
        async with restoring:
            checkpoints = await _read_checkpoints(models)
            with TemporaryFile() as file:
                async for chunk in read_chunks(request):
                    if file.tell() + len(chunk) > max_bytes:
                        detail = (
                            f"a backup may have {max_bytes:,} bytes here: start with more --upload-disk-mb"
                        )
                        raise TooLarge(detail, limit=max_bytes)
                    await asyncio.to_thread(file.write, chunk)
                receipt = await backup.restore(file, checkpoints, with_keys)
        summarize(request, f"a restore of {receipt.version:,} versions")
        return receipt

    return router


async def _read_checkpoints(models: ModelRouter) -> Mapping[str, str]:
    """Return the checkpoint of each memory's rows, as far as the models have told it."""
    found_descriptions = (await models.descriptions.find_all()).values()
    memories = [memory for item in found_descriptions if item for memory in item["memories"]]
    return {memory["name"]: memory["base"] for memory in memories}
