"""Turns a response with an error status into the right error, with or without a problem document.

A proxy in front of the service (Ray's own, a load balancer) answers in plain text or HTML; such an answer
gets the problem document that the service would have sent, so that callers see only one kind of error.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import httpx
from pydantic import ValidationError

from errata import errors
from errata.wire import FieldProblem, Problem
from errata.wire.mistakes import complain, describe_mistake, locate

# The service's code for a status without a problem document
CODE_OF_STATUS = {
    400: "invalid_input",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    410: "not_found",
    413: "too_large",
    422: "invalid_input",
    429: "too_many",
    503: "not_ready",
}
# Errors of a proxy whose service was late or did not answer
PROXY_ERRORS: dict[int, type[errors.Unreachable]] = {
    408: errors.TimedOut,
    502: errors.Unreachable,
    504: errors.TimedOut,
}
MAX_DETAIL_CHARS = 300


def to_error(response: httpx.Response) -> errors.Refused | errors.Unreachable:
    """Return the error for a response with a status of 400 or more.

    Retry-After is read in seconds; its HTTP-date form is ignored, since no part of Errata sends it.
    """
    try:
        problem = Problem.model_validate_json(response.content)
    except ValidationError:
        problem = _infer_problem(response)
        if response.status_code in PROXY_ERRORS:
            return PROXY_ERRORS[response.status_code](problem.detail or problem.title)
    retry_after = response.headers.get("retry-after", "")
    return from_problem(problem, float(retry_after) if re.fullmatch(r"\d{1,6}", retry_after) else None)


def from_problem(problem: Problem, retry_after_s: float | None = None) -> errors.Refused:
    """Return the error for a problem document from any response."""
    by_code = errors.Refused.by_code
    family = errors.Conflict if problem.status == 409 else errors.ServerError
    code = CODE_OF_STATUS.get(problem.status, "")
    return (by_code.get(problem.code) or by_code.get(code, family))(problem, retry_after_s)


def _infer_problem(response: httpx.Response) -> Problem:
    """Make a problem document for a response without one, from its text in one line."""
    status = response.status_code
    title = response.reason_phrase or f"HTTP {status}"
    try:
        body: Any = json.loads(response.content)
    except (ValueError, RecursionError):
        body = None
    detail = body.get("detail") if isinstance(body, dict) else None
    if not detail or not isinstance(detail, str):
        detail = re.sub(r"<[^>]*>", " ", response.text)
    words = " ".join(detail.split())
    words = words if len(words) <= MAX_DETAIL_CHARS else words[: MAX_DETAIL_CHARS - 1] + "…"
    sentence = f"{response.url.copy_with(query=None)} answered {status}: {words or title}"
    return Problem(title=title, status=status, code=CODE_OF_STATUS.get(status, "internal"), detail=sentence)


def unsendable(detail: str, faults: Sequence[FieldProblem] = ()) -> errors.Malformed:
    """Return the error that the service would send for a request that cannot be built."""
    problem = Problem.of("invalid_input", detail)
    return errors.Malformed(problem.model_copy(update={"errors": list(faults)}))


def describe_invalid(error: ValidationError) -> str:
    """Describe each wrong field, e.g. `question: is empty`."""
    return "; ".join(
        complain(locate(mistake), describe_mistake(mistake)) for mistake in error.errors(include_url=False)
    )
