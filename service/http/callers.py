"""Who may call a route: a dependency that runs before the body is read, so that strangers cost nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

from fastapi import Request

from service.access.access import Gate
from service.access.caller import Caller, Scope

Guard = Callable[[Request], AsyncIterator[None]]


def may(gate: Gate, scope: Scope | None) -> Guard:
    """scope: None lets in whoever has a key, whatever it may do."""

    async def guard(request: Request) -> AsyncIterator[None]:
        address = request.client.host if request.client else "nowhere"
        caller = await gate.admit(request.headers.get("authorization"), address, scope)
        request.state.caller = caller
        if scope is not None:
            caller.check(scope)
        async with gate.hold(caller, address):
            yield

    return guard


def caller(request: Request) -> Caller:
    """Whom the guard of the route has let in."""
    who: Caller = request.state.caller
    return who
