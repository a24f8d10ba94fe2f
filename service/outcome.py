"""What crosses a Ray handle: a status and JSON that is ready to leave, never an exception.

An exception would be pickled with its traceback and wrapped by Ray; bytes made once in the replica pass through.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import BaseModel

from service.errors import ErrataError

# For whoever reads headers alone: the version of a commit that was made, the code of a problem.
VERSION, CODE = "errata-version", "errata-code"


@dataclass(frozen=True)
class Outcome:
    """body: a wire model, or a problem document (RFC 9457) when status is 400 or more. declined: it answers nothing."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)
    declined: bool = False

    @staticmethod
    def ok(model: BaseModel | bytes, status: int = 200, version: int | None = None) -> Outcome:
        """version: of the commit that was made."""
        body = model if isinstance(model, bytes) else model.model_dump_json().encode()
        return Outcome(status, body, {} if version is None else {VERSION: str(version)})

    @staticmethod
    def of(error: ErrataError, instance: str | None) -> Outcome:
        """The problem document of an error. `instance`: the path that was asked, where there is one."""
        problem = {
            **error.extras,
            "type": f"urn:errata:problem:{error.code}",
            "title": error.title,
            "status": error.status,
            "code": error.code,
            "detail": error.detail,
            "instance": instance,
        }
        wait_s = error.extras.get("retry_after_s", error.retry_after_s)
        headers = {CODE: error.code} | ({} if wait_s is None else {"Retry-After": str(wait_s)})
        return Outcome(error.status, json.dumps(problem).encode(), headers)
