"""Who may call a route: a dependency that runs before the body is read, so that strangers cost nothing.

Async, though nothing is awaited: FastAPI would give a plain function a thread, which costs more than the answer.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from ipaddress import ip_address

from fastapi import Request

from service.access.keys import Caller, Keyring, Scope

Guard = Callable[[Request], Awaitable[None]]


def may(keyring: Keyring, scope: Scope) -> Guard:
    async def guard(request: Request) -> None:
        caller = keyring.caller(request.headers.get("authorization"))
        caller.check(scope)
        request.state.caller = caller

    return guard


def may_ask(keyring: Keyring, host: str) -> Guard:
    """Open on this machine alone; wherever others can connect, asking needs a key too."""
    return _open if _is_loopback(host) else may(keyring, "ask")


def caller(request: Request) -> Caller:
    """Whom the guard of the route has let in."""
    who: Caller = request.state.caller
    return who


async def _open(request: Request) -> None:
    """Whoever it is, it comes from this machine."""


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
