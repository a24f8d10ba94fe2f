"""What /docs says of a route that reads its own body and passes bytes on: FastAPI cannot see either by itself."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from errata.wire import (
    AnswerRequest,
    BatchRequest,
    EditRequest,
    KeyRequest,
    Problem,
    Request,
    Response,
    RevertRequest,
    RollbackRequest,
    RotateRequest,
    TagRequest,
)
from errata.wire.openai import ChatRequest
from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

BODIES: tuple[type[Request], ...] = (
    AnswerRequest,
    BatchRequest,
    ChatRequest,
    EditRequest,
    KeyRequest,
    RevertRequest,
    RollbackRequest,
    RotateRequest,
    TagRequest,
)
NAMED: tuple[type[BaseModel], ...] = (*BODIES, Problem)
SCHEMA = "#/components/schemas/{model}"
EVENTS = "text/event-stream"
KEY = "key"


def describes(
    body: type[Request] | None,
    returns: type[Response] | None,
    *problems: int,
    status: int = 200,
    streams: str | None = None,
) -> dict[str, Any]:
    """Keyword arguments of a route: its body, its answer, and the statuses of its problem documents.

    streams: the media type in which the answer comes piece by piece, to those who ask for that.
    """
    responses: dict[int, dict[str, Any]] = {code: _problem(code) for code in problems}
    if returns is not None:
        responses[status] = {"model": returns, "description": HTTPStatus(status).phrase}
    if streams is not None:
        responses[status]["content"] = {streams: {}}
    described: dict[str, Any] = {"responses": responses, "status_code": status, "response_model": None}
    return described if body is None else {**described, "openapi_extra": {"requestBody": _body(body)}}


def _problem(status: int) -> dict[str, Any]:
    reference = {"schema": {"$ref": SCHEMA.format(model=Problem.__name__)}}
    phrase = HTTPStatus(status).phrase
    return {
        "description": f"{phrase}: a problem document",
        "content": {"application/problem+json": reference},
    }


def _body(kind: type[Request]) -> dict[str, Any]:
    reference = {"schema": {"$ref": SCHEMA.format(model=kind.__name__)}}
    return {"required": True, "content": {"application/json": reference}}


def _security(path: str) -> list[dict[str, list[str]]]:
    """Where the key is asked for always, where it is unless only this machine can connect, and where never."""
    if path.startswith("/admin/"):
        return [{KEY: []}]
    return [{KEY: []}, {}] if path.startswith("/v1/") else []


def install(app: FastAPI) -> None:
    """Adds the schemas that the routes only name."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            made = get_openapi(
                title=app.title, version=app.version, description=app.description, routes=app.routes
            )
            named = models_json_schema([(kind, "validation") for kind in NAMED], ref_template=SCHEMA)[1]
            parts = made.setdefault("components", {})
            parts.setdefault("schemas", {}).update(named["$defs"])
            parts["securitySchemes"] = {KEY: {"type": "http", "scheme": "bearer"}}
            for path, verbs in made["paths"].items():
                for described in verbs.values():
                    described["security"] = _security(path)
            app.openapi_schema = made
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]  # FastAPI's documented way
