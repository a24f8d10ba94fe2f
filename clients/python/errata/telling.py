"""Reads a response in which the service tells, line by line, how far a long piece of work is and how it ended.

Each line is a JSON object: any number of `progress`, then exactly one `receipt` or `problem`. A response that breaks
off before that last line leaves the outcome open.
"""

from __future__ import annotations

import json
from typing import Any

import httpx
from pydantic import ValidationError

from errata.call import Call, Reply, T_co
from errata.errors import NotErrata, Unreachable
from errata.refusals import of_problem
from errata.upload import Progress
from errata.wire import ImportProgress, Problem

NDJSON = "application/x-ndjson"
BROKEN_OFF = "Errata at {where} stopped telling before it said how it ended"


def tells(response: httpx.Response) -> bool:
    return response.is_success and response.headers.get("content-type", "").split(";")[0].strip() == NDJSON


class Telling:
    """Takes the bytes as they come; `ending` is what they said at last."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._begun = b""
        self._last: dict[str, Any] = {}

    def hear(self, piece: bytes) -> None:
        """Only the line feed ends a line: texts may hold whatever else Unicode calls one."""
        *lines, self._begun = (self._begun + piece).split(b"\n")
        for line in lines:
            self._line(line)

    def ending(self, call: Call[T_co], response: httpx.Response) -> Reply[T_co]:
        """The receipt; or raises what the problem stands for, or Unreachable where neither came."""
        self._line(self._begun)
        if "problem" in self._last:
            raise of_problem(_valid(Problem, self._last["problem"], response))
        if "receipt" not in self._last:
            where = f"{response.url.scheme}://{response.url.netloc.decode()}"
            raise Unreachable(BROKEN_OFF.format(where=where))
        receipt = self._last["receipt"]
        raw = json.dumps(receipt, ensure_ascii=False, separators=(",", ":")).encode()
        return Reply(_valid(call.returns, receipt, response), raw, response.status_code)

    def _line(self, line: bytes) -> None:
        if not line.strip() or self._last:
            return
        try:
            said = json.loads(line)
            if isinstance(said, dict) and "progress" in said:
                self._progress(ImportProgress.model_validate(said["progress"]))
            elif isinstance(said, dict) and {"receipt", "problem"} & set(said):
                self._last = said
        except ValueError as error:  # pydantic's and json's own are both of this kind
            raise _strange(None, error) from error


def _valid(kind: type[Any], value: Any, response: httpx.Response) -> Any:
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        raise _strange(response, error) from error


def _strange(response: httpx.Response | None, error: ValueError) -> NotErrata:
    where = f"{response.url.copy_with(query=None)} " if response is not None else "the service "
    return NotErrata(f"{where}tells its progress, but not as Errata does: {str(error).splitlines()[0][:200]}")
