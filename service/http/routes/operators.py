"""The admin routes of operators: keys, the audit, and backups.

Keys are made, listed, rotated and revoked, and tell a caller who it is. GET /admin/audit has the calls of the admin
routes, refused ones included. GET /admin/export gives the whole ledger as one file, and POST /admin/import puts it back
into an empty one."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from tempfile import TemporaryFile
from typing import Annotated, Any

from errata import wire
from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import StreamingResponse

from service.access.access import Gate
from service.access.api_keys import ApiKey, KeyStore
from service.access.audit.audit import Audit, Entry, Filter
from service.backup import archive
from service.backup.backup import Backup
from service.errors import TooLarge, TooMany
from service.http.auth import get_caller
from service.http.body import json_body, read_chunks
from service.http.middleware.audit import summarize
from service.http.model_router import ModelRouter
from service.http.openapi import document
from service.http.responses import NO_BUFFERING

Name = Annotated[wire.KeyName, Path(description="Whose key it is.")]
KeyBody = Annotated[wire.KeyRequest, json_body(wire.KeyRequest)]
RotateBody = Annotated[wire.RotateRequest, json_body(wire.RotateRequest)]


def build_self_router() -> APIRouter:
    router = APIRouter(tags=["keys"])

    @router.get("/admin/keys/self", **document(wire.Whoami))
    async def whoami(request: Request) -> wire.Whoami:
        """Return the name and the scopes of the key that was sent, whatever they are."""
        caller = get_caller(request)
        return wire.Whoami(name=caller.name, scopes=list(caller.scopes))

    return router


def build_router(store: KeyStore, gate: Gate) -> APIRouter:
    router = APIRouter(tags=["keys"])

    @router.get("/admin/keys", **document(wire.KeyList))
    async def list_keys() -> wire.KeyList:
        """List every issued key, revoked ones included. The secrets are stored nowhere."""
        return wire.KeyList(
            keys=[wire.KeyState.model_validate(_key_to_wire(key)) for key in await store.all()]
        )

    @router.post("/admin/keys", **document(wire.NewKey, 409, status=201))
    async def make_key(body: KeyBody, request: Request) -> wire.NewKey:
        """Issue a key. Only this response has it: it cannot be read again."""
        scopes = list(dict.fromkeys(body.scopes))
        summarize(request, f"a key for {body.name}: {', '.join(scopes)}")
        expires = None if body.expires_in_s is None else time.time() + body.expires_in_s
        key, secret = await store.issue(body.name, scopes, expires, get_caller(request).name)
        gate.authenticator.forget(body.name)
        return wire.NewKey.model_validate({**_key_to_wire(key), "key": secret})

    @router.post("/admin/keys/{name}/rotations", **document(wire.NewKey, 404, status=201))
    async def rotate_key(name: Name, body: RotateBody, request: Request) -> wire.NewKey:
        """Give a key a new secret. The old one stays valid for `keep_old_s` seconds."""
        summarize(request, f"the old one for {body.keep_old_s:g} s more")
        key, secret = await store.rotate(name, body.keep_old_s, body.expires_in_s)
        gate.authenticator.forget(name)
        return wire.NewKey.model_validate({**_key_to_wire(key), "key": secret})

    @router.delete("/admin/keys/{name}", **document(wire.KeyState, 404))
    async def revoke_key(name: Name) -> wire.KeyState:
        """Revoke a key: within a second it is valid nowhere."""
        key = await store.revoke(name)
        gate.authenticator.forget(name)
        return wire.KeyState.model_validate(_key_to_wire(key))

    return router


def _key_to_wire(key: ApiKey) -> dict[str, Any]:
    return {**key.model_dump(exclude={"secrets"}), "has_secret": bool(key.secrets)}


Before = Annotated[str | None, Query(pattern=r"^[1-9][0-9]{0,15}-[0-9]{1,16}$")]
AuditLimit = Annotated[int, Query(ge=1, le=1_000)]
Time = Annotated[float | None, Query(ge=0, le=1e11)]


def build_audit_router(audit: Audit) -> APIRouter:
    router = APIRouter(tags=["audit"])

    @router.get("/admin/audit", **document(wire.AuditPage))
    async def list_calls(
        limit: AuditLimit = 50,
        before: Before = None,
        name: str | None = None,
        path: str | None = None,
        refused: bool | None = None,
        version: int | None = None,
        since: Time = None,
        until: Time = None,
    ) -> wire.AuditPage:
        """List the newest calls; `before` continues from an older page. `path` is the beginning of their paths.

        A page may have fewer calls than `limit`, or none, and a `next` all the same: the search stopped there.
        """
        filter = Filter(name, path, refused, version, since, until)
        page = await audit.newest(limit, before, filter)
        return wire.AuditPage(entries=[_entry_to_wire(entry) for entry in page.entries], next=page.next)

    return router


def _entry_to_wire(entry: Entry) -> wire.AuditEntry:
    fields = {"id": entry.id, "time": entry.time, "first": entry.call.first_at}
    marks = {"pending": entry.pending, "restored": entry.restored}
    return wire.AuditEntry.model_validate(
        {**fields, **marks, **entry.call.model_dump(exclude={"first_at", "last_at"})}
    )


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
