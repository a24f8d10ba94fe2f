"""The admin routes that make, list, rotate and revoke keys, and tell a caller who it is.

GET /admin/audit: the calls of the admin routes, refused ones included.
"""

from __future__ import annotations

import time
from typing import Annotated, Any

from errata.wire import (
    AuditEntry,
    AuditPage,
    KeyList,
    KeyName,
    KeyRequest,
    KeyState,
    NewKey,
    RotateRequest,
    Whoami,
)
from fastapi import APIRouter, Path, Query, Request

from service.access.access import Gate
from service.access.api_keys import ApiKey, KeyStore
from service.access.audit.audit import Audit, Entry, Filter
from service.http.auth import get_caller
from service.http.body import json_body
from service.http.middleware.audit import summarize
from service.http.openapi import document

Name = Annotated[KeyName, Path(description="Whose key it is.")]
KeyBody = Annotated[KeyRequest, json_body(KeyRequest)]
RotateBody = Annotated[RotateRequest, json_body(RotateRequest)]


def build_self_router() -> APIRouter:
    router = APIRouter(tags=["keys"])

    @router.get("/admin/keys/self", **document(Whoami))
    async def whoami(request: Request) -> Whoami:
        """Return the name and the scopes of the key that was sent, whatever they are."""
        caller = get_caller(request)
        return Whoami(name=caller.name, scopes=list(caller.scopes))

    return router


def build_router(store: KeyStore, gate: Gate) -> APIRouter:
    router = APIRouter(tags=["keys"])

    @router.get("/admin/keys", **document(KeyList))
    async def list_keys() -> KeyList:
        """List every issued key, revoked ones included. The secrets are stored nowhere."""
        return KeyList(keys=[KeyState.model_validate(_to_wire(key)) for key in await store.all()])

    @router.post("/admin/keys", **document(NewKey, 409, status=201))
    async def make_key(body: KeyBody, request: Request) -> NewKey:
        """Issue a key. Only this response has it: it cannot be read again."""
        scopes = list(dict.fromkeys(body.scopes))
        summarize(request, f"a key for {body.name}: {', '.join(scopes)}")
        expires = None if body.expires_in_s is None else time.time() + body.expires_in_s
        key, secret = await store.issue(body.name, scopes, expires, get_caller(request).name)
        gate.authenticator.forget(body.name)
        return NewKey.model_validate({**_to_wire(key), "key": secret})

    @router.post("/admin/keys/{name}/rotations", **document(NewKey, 404, status=201))
    async def rotate_key(name: Name, body: RotateBody, request: Request) -> NewKey:
        """Give a key a new secret. The old one stays valid for `keep_old_s` seconds."""
        summarize(request, f"the old one for {body.keep_old_s:g} s more")
        key, secret = await store.rotate(name, body.keep_old_s, body.expires_in_s)
        gate.authenticator.forget(name)
        return NewKey.model_validate({**_to_wire(key), "key": secret})

    @router.delete("/admin/keys/{name}", **document(KeyState, 404))
    async def revoke_key(name: Name) -> KeyState:
        """Revoke a key: within a second it is valid nowhere."""
        key = await store.revoke(name)
        gate.authenticator.forget(name)
        return KeyState.model_validate(_to_wire(key))

    return router


def _to_wire(key: ApiKey) -> dict[str, Any]:
    return {**key.model_dump(exclude={"secrets"}), "has_secret": bool(key.secrets)}


Before = Annotated[str | None, Query(pattern=r"^[1-9][0-9]{0,15}-[0-9]{1,16}$")]
Limit = Annotated[int, Query(ge=1, le=1_000)]
Time = Annotated[float | None, Query(ge=0, le=1e11)]


def build_audit_router(audit: Audit) -> APIRouter:
    router = APIRouter(tags=["audit"])

    @router.get("/admin/audit", **document(AuditPage))
    async def list_calls(
        limit: Limit = 50,
        before: Before = None,
        name: str | None = None,
        path: str | None = None,
        refused: bool | None = None,
        version: int | None = None,
        since: Time = None,
        until: Time = None,
    ) -> AuditPage:
        """List the newest calls; `before` continues from an older page. `path` is the beginning of their paths.

        A page may have fewer calls than `limit`, or none, and a `next` all the same: the search stopped there.
        """
        filter = Filter(name, path, refused, version, since, until)
        page = await audit.newest(limit, before, filter)
        return AuditPage(entries=[_entry_to_wire(entry) for entry in page.entries], next=page.next)

    return router


def _entry_to_wire(entry: Entry) -> AuditEntry:
    fields = {"id": entry.id, "time": entry.time, "first": entry.call.first_at}
    marks = {"pending": entry.pending, "restored": entry.restored}
    return AuditEntry.model_validate(
        {**fields, **marks, **entry.call.model_dump(exclude={"first_at", "last_at"})}
    )
