"""Who may call a route: a dependency that runs before the body is read, so that strangers cost nothing."""

# Without `from __future__ import annotations`: FastAPI cannot resolve the annotations of a callable object.
from collections.abc import AsyncIterator
from dataclasses import dataclass

from fastapi import Request

from service.access.access import Gate
from service.access.caller import Caller, Scope


@dataclass(frozen=True)
class Guard:
    """A dependency that lets in callers with one scope. scope: None lets in every caller with a key."""

    gate: Gate
    scope: Scope | None

    async def __call__(self, request: Request) -> AsyncIterator[None]:
        address = get_address(request)
        caller = await self.gate.admit(request.headers.get("authorization"), address, self.scope)
        request.state.caller = caller
        if self.scope is not None:
            caller.check(self.scope)
        async with self.gate.hold(caller, address):
            yield


def get_address(request: Request) -> str:
    """Return where a request comes from, as a trusted proxy says it."""
    return request.client.host if request.client else "nowhere"


def get_caller(request: Request) -> Caller:
    """Return whom the guard of the route has let in."""
    caller: Caller = request.state.caller
    return caller
