"""What schemathesis does not know by itself: how a ledger's file is sent, and what a reply must never be.

Bundle by schemathesis as its hooks.
"""

from typing import Any

import schemathesis

FUTURE_VERSION = "version_ahead"
"""The one thing that is not there, and may be soon: a version above the newest. Nothing else here is ever away."""


@schemathesis.check
def no_server_error(context: Any, response: Any, case: Any) -> None:
    if response.status_code < 500:
        return
    body = response.json()
    code = body.get("error", body).get("code")
    assert (response.status_code, code) == (503, FUTURE_VERSION), f"{response.status_code} {code}: {body}"


@schemathesis.serializer("application/x-tar")
def as_bytes(context: Any, value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode(errors="replace")
