"""The result of a call across a Ray handle: a status and JSON that is ready to send, never an exception.

An exception would be pickled with its traceback and wrapped by Ray; bytes from the replica pass through unchanged.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import BaseModel

from service.errors import ErrataError

# Headers with the version of a new commit and the code of a problem
VERSION, CODE = "errata-version", "errata-code"


@dataclass(frozen=True)
class Outcome:
    """A wire model as JSON, or from status 400 on a problem document (RFC 9457)."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)
    declined: bool = False  # whether it is an Answer without an answer
    is_near: bool = False  # whether it is an Answer beside a nearby edit that it is likely enough to ask for
    wording: str = ""  # the wording by which the edit that answers was found; "" where none was
    edits: tuple[str, ...] = ()  # ids of the edits that an answer that is given rests on
    version: int | None = None  # the version that an Answer is of, so that the ingress need not read the body

    @staticmethod
    def ok(model: BaseModel | bytes, status: int = 200, version: int | None = None) -> Outcome:
        body = model if isinstance(model, bytes) else model.model_dump_json().encode()
        return Outcome(status, body, {} if version is None else {VERSION: str(version)})

    @staticmethod
    def of(error: ErrataError, instance: str | None) -> Outcome:
        """Make the problem document of an error; `instance` is the path of the request, if there is one."""
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
