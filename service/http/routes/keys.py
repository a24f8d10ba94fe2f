"""The admin routes of keys: they are made, listed, rotated and revoked, and tell a caller who it is."""

from __future__ import annotations

import time
from typing import Annotated, Any

from errata import wire
from fastapi import APIRouter, Path, Request

from service.access.access import Gate
from service.access.api_keys import ApiKey, KeyStore
from service.http.auth import get_caller
from service.http.body import json_body
from service.http.middleware.audit import summarize
from service.http.openapi import document

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
        gate.authenticator.keys.forget(body.name)
        return wire.NewKey.model_validate({**_key_to_wire(key), "key": secret})

    @router.post("/admin/keys/{name}/rotations", **document(wire.NewKey, 404, status=201))
    async def rotate_key(name: Name, body: RotateBody, request: Request) -> wire.NewKey:
        """Give a key a new secret. The old one stays valid for `keep_old_s` seconds."""
        summarize(request, f"the old one for {body.keep_old_s:g} s more")
        key, secret = await store.rotate(name, body.keep_old_s, body.expires_in_s)
        gate.authenticator.keys.forget(name)
        return wire.NewKey.model_validate({**_key_to_wire(key), "key": secret})

    @router.delete("/admin/keys/{name}", **document(wire.KeyState, 404))
    async def revoke_key(name: Name) -> wire.KeyState:
        """Revoke a key: within a second it is valid nowhere."""
        key = await store.revoke(name)
        gate.authenticator.keys.forget(name)
        return wire.KeyState.model_validate(_key_to_wire(key))

    return router


def _key_to_wire(key: ApiKey) -> dict[str, Any]:
    return {**key.model_dump(exclude={"secrets"}), "has_secret": bool(key.secrets)}
