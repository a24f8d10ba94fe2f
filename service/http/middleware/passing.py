"""Which requests go to an upstream with their method and come back with its bytes."""

from __future__ import annotations

from starlette.types import Scope

PASSED_ON = b"x-errata-upstream"  # header of a request that goes to an upstream as it is


def is_for_upstream(scope: Scope) -> bool:
    """Return whether a request names an upstream by its header; its reply passes as it is."""
    return scope["path"].startswith("/v1/") and any(name == PASSED_ON for name, _ in scope["headers"])
