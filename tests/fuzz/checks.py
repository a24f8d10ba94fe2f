"""What schemathesis does not know by itself: how a ledger's file is sent, and what a reply must never be.

Bundle by schemathesis as its hooks.
"""

from __future__ import annotations

from typing import Any

import schemathesis

WAITED_FOR = "version_ahead"
"""The one thing that is not there, and may be soon: a version above the newest. Nothing else here is ever away."""


@schemathesis.check
def served(context: Any, response: Any, case: Any) -> None:
    if response.status_code < 500:
        return
    told = response.json()
    code = told.get("error", told).get("code")
    assert (response.status_code, code) == (503, WAITED_FOR), f"{response.status_code} {code}: {told}"


@schemathesis.serializer("application/x-tar")
def as_bytes(context: Any, value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode(errors="replace")
