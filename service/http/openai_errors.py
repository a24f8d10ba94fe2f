"""Errors in OpenAI's shape, for the one path that speaks it: OpenAI's clients find the sentence and the code in it.

/v1/models is shared with everybody else. Its problem documents do there, for OpenAI's client goes by the status and
finds `code` in them, too.
"""

from __future__ import annotations

from errata.wire import Problem
from errata.wire.openai import ChatError, ChatProblem
from fastapi import Response
from pydantic import ValidationError

from service.http.body import shortened
from service.replicas.outcome import Outcome

CHAT = "/v1/chat/completions"
INVALID = 422
BAD_REQUEST = 400
TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}


def refused(outcome: Outcome, cause: BaseException | None) -> Response:
    """An outcome that is a problem. cause: of the error, which knows the field.

    What is wrong with a field is 400 here: OpenAI answers so, and its clients know nothing else as their mistake.
    """
    problem = Problem.model_validate_json(outcome.body)
    status = BAD_REQUEST if outcome.status == INVALID else outcome.status
    told = ChatProblem(message=problem.detail, type=_type(status), param=_param(cause), code=problem.code)
    body = ChatError(error=told).model_dump_json()
    return Response(body, status, dict(outcome.headers), "application/json")


def _type(status: int) -> str:
    return TYPES.get(status, "server_error" if status >= 500 else "invalid_request_error")


def _param(cause: BaseException | None) -> str | None:
    """The first field that is wrong, by its name in the body. The question is the text of a message there."""
    if not isinstance(cause, ValidationError):
        return None
    place = cause.errors(include_url=False, include_input=False)[0]["loc"]
    name = ".".join(shortened(str(part)) for part in place)
    return {"": None, "question": "messages"}.get(name, name)
