"""Who may call a route: a dependency that runs before the body is read, so that strangers cost nothing."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import ip_address

from fastapi import Request

from service.access.keys import Caller, Keyring, Scope

Guard = Callable[..., Caller]

ANYONE = Caller("anyone", ("ask",))


def may(keyring: Keyring, scope: Scope) -> Guard:
    def guard(request: Request) -> Caller:
        caller = keyring.caller(request.headers.get("authorization"))
        caller.check(scope)
        return caller

    return guard


def may_ask(keyring: Keyring, host: str) -> Guard:
    """Open on this machine alone; wherever others can connect, asking needs a key too."""
    return _open if _is_loopback(host) else may(keyring, "ask")


def _open() -> Caller:
    return ANYONE


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
