"""The admin routes that make, list, rotate and revoke keys, and tell a caller who it is."""

from __future__ import annotations

import time
from typing import Annotated, Any

from errata.wire import KeyList, KeyName, KeyRequest, KeyState, NewKey, RotateRequest, Whoami
from fastapi import APIRouter, Depends, Path, Request

from service.access.access import Gate
from service.access.api_keys import ApiKey, KeyStore
from service.http.audited import describe
from service.http.body import ADMIN_LIMIT, parsed
from service.http.callers import Guard, caller
from service.http.openapi import describes

Name = Annotated[KeyName, Path(description="Whose key it is.")]


def routes(store: KeyStore, gate: Gate, is_known: Guard, may_admin: Guard) -> APIRouter:
    router = APIRouter(tags=["keys"])
    admin = [Depends(may_admin)]

    @router.get(
        "/admin/keys/self", dependencies=[Depends(is_known)], **describes(None, Whoami, 401, 429, 503)
    )
    async def whoami(request: Request) -> Whoami:
        """The name and the scopes of the key that was sent, whatever they are."""
        who = caller(request)
        return Whoami(name=who.name, scopes=list(who.scopes))

    @router.get("/admin/keys", dependencies=admin, **describes(None, KeyList, 401, 403, 429, 503))
    async def keys() -> KeyList:
        """Every key that was issued, the revoked ones too. What opens them is kept nowhere."""
        return KeyList(keys=[KeyState.model_validate(_told(key)) for key in await store.all()])

    @router.post(
        "/admin/keys",
        dependencies=admin,
        **describes(KeyRequest, NewKey, 400, 401, 403, 408, 409, 413, 422, 429, 503, status=201),
    )
    async def issue(request: Request) -> NewKey:
        """Make a key. It is in this response, once: nobody can read it again."""
        asked = await parsed(KeyRequest, request, ADMIN_LIMIT)
        scopes = list(dict.fromkeys(asked.scopes))
        describe(request, f"a key for {asked.name}: {', '.join(scopes)}")
        expires = None if asked.expires_in_s is None else time.time() + asked.expires_in_s
        key, secret = await store.issue(asked.name, scopes, expires, caller(request).name)
        gate.authenticator.forget(asked.name)
        return NewKey.model_validate({**_told(key), "key": secret})

    @router.post(
        "/admin/keys/{name}/rotations",
        dependencies=admin,
        **describes(RotateRequest, NewKey, 400, 401, 403, 404, 408, 413, 422, 429, 503, status=201),
    )
    async def rotate(name: Name, request: Request) -> NewKey:
        """Give a key a new secret. The old one goes on opening for `keep_old_s` seconds."""
        asked = await parsed(RotateRequest, request, ADMIN_LIMIT)
        describe(request, f"the old one for {asked.keep_old_s:g} s more")
        key, secret = await store.rotate(name, asked.keep_old_s, asked.expires_in_s)
        gate.authenticator.forget(name)
        return NewKey.model_validate({**_told(key), "key": secret})

    @router.delete(
        "/admin/keys/{name}", dependencies=admin, **describes(None, KeyState, 401, 403, 404, 422, 429, 503)
    )
    async def revoke(name: Name) -> KeyState:
        """Revoke a key: within a second it opens nothing anywhere."""
        key = await store.revoke(name)
        gate.authenticator.forget(name)
        return KeyState.model_validate(_told(key))

    return router


def _told(key: ApiKey) -> dict[str, Any]:
    return {**key.model_dump(exclude={"secrets"}), "has_secret": bool(key.secrets)}
