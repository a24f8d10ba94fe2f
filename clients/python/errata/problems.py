"""Turns whatever came back instead of an answer into the right error, problem document or not.

A proxy in front of the service (Ray's own, a load balancer) answers in plain text or HTML; such an answer
gets the problem document that the service would have sent, so that callers see one kind of error only.
"""

from __future__ import annotations

import json
import re
from typing import Any

import httpx
from pydantic import ValidationError

from errata import errors
from errata.wire import Problem

# What a status means when nobody says more; the code is the service's own for that case.
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
# What a proxy says of its own accord, when the service behind it was late or did not answer.
OF_A_PROXY: dict[int, type[errors.Unreachable]] = {
    408: errors.TimedOut,
    502: errors.Unreachable,
    504: errors.TimedOut,
}
LONGEST_DETAIL_CHARS = 300


def refused(response: httpx.Response) -> errors.Refused | errors.Unreachable:
    """The error that a response with a status of 400 or more stands for."""
    try:
        problem = Problem.model_validate_json(response.content)
    except ValidationError:
        problem = _made_up(response)
        if response.status_code in OF_A_PROXY:
            return OF_A_PROXY[response.status_code](problem.detail or problem.title)
    return _kind(problem)(problem, _retry_after_s(response))


def of_problem(problem: Problem) -> errors.Refused:
    """The error that a problem document stands for, wherever it stood."""
    return _kind(problem)(problem)


def malformed(error: ValidationError) -> errors.Malformed:
    """What the service would say of a request that cannot be built, said without sending it."""
    return unsendable(sentence(error))


def unsendable(detail: str) -> errors.Malformed:
    return errors.Malformed(Problem.of("invalid_input", detail))


def sentence(error: ValidationError) -> str:
    """Each field and what is wrong with it, e.g. `question: String should have at least 1 character`."""
    return "; ".join(_complaint(one["loc"], one["msg"]) for one in error.errors(include_url=False))


def _complaint(place: tuple[int | str, ...], message: str) -> str:
    return f"{'.'.join(map(str, place))}: {message}" if place else message


def _kind(problem: Problem) -> type[errors.Refused]:
    by_code = errors.Refused.by_code
    fallback = by_code.get(CODE_OF_STATUS.get(problem.status, ""))
    if fallback is None:
        fallback = errors.Conflict if problem.status == 409 else errors.Faulty
    return by_code.get(problem.code, fallback)


def _made_up(response: httpx.Response) -> Problem:
    status = response.status_code
    title = response.reason_phrase or f"HTTP {status}"
    said = _said(response) or title
    detail = f"{response.url.copy_with(query=None)} answered {status}: {said}"
    return Problem(title=title, status=status, code=CODE_OF_STATUS.get(status, "internal"), detail=detail)


def _said(response: httpx.Response) -> str:
    """The words of an answer that is no problem document, on one line."""
    text = _detail(response) or re.sub(r"<[^>]*>", " ", response.text)
    words = " ".join(text.split())
    return words if len(words) <= LONGEST_DETAIL_CHARS else words[: LONGEST_DETAIL_CHARS - 1] + "…"


def _detail(response: httpx.Response) -> str | None:
    try:
        body: Any = json.loads(response.content)
    except (ValueError, RecursionError):
        return None
    detail = body.get("detail") if isinstance(body, dict) else None
    return detail if isinstance(detail, str) else None


def _retry_after_s(response: httpx.Response) -> float | None:
    """In seconds; the HTTP-date form is left unread, since no part of Errata sends it."""
    given = response.headers.get("retry-after", "")
    return float(given) if re.fullmatch(r"\d{1,6}", given) else None
