"""The parts of /docs that FastAPI does not generate, derived from the dependencies of each route.

A guard may refuse a caller, a body may be malformed, a parameter may be wrong: those problems are added to every route
that has one. A route names only its answer, and the problems of its own. The name of its function is the id of the
operation and the first sentence of its docstring the summary; descriptions.toml has what the docstrings of wire types
leave out. A route that only forwards a call to the editor is made here: its parameters are the fields of the call.
"""

# `from __future__ import annotations` is left out: FastAPI cannot resolve the annotations of a callable object.
import tomllib
from collections.abc import Iterator
from http import HTTPStatus
from inspect import Parameter, signature
from pathlib import Path
from typing import Any

from errata import wire
from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.openapi.utils import get_openapi
from fastapi.routing import RouteContext, iter_route_contexts
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from service.editing.call import Call
from service.errors import InvalidInput
from service.http.auth import Account, Guard, RequestAccount
from service.http.body import JsonBody
from service.http.deployment_client import EditorClient
from service.http.failures import CHAT, RESPONSES
from service.http.openai.replies import ChatError
from service.http.responses import PROBLEM, respond

DESCRIPTIONS = tomllib.loads(Path(__file__).with_name("descriptions.toml").read_text())
FIELDS, PARAMETERS, EXAMPLES = (DESCRIPTIONS[name] for name in ("fields", "parameters", "examples"))
AS_OPENAI = (
    "As in OpenAI's API; service/http/README.md says which fields are kept to, and which change nothing here."
)
SCHEMA = "#/components/schemas/{model}"
KEY = "key"
GUARD_PROBLEMS, SCOPE_PROBLEMS = (401, 429, 503), (403,)
BODY_PROBLEMS, PARAMETER_PROBLEMS = (400, 408, 413, 415, 422), (422,)
ALWAYS: list[dict[str, list[str]]] = [{KEY: []}]
PREFIXES = ("/admin/", "/v1/")  # beginnings of the paths that a guard protects
UNUSED_SCHEMAS = ("HTTPValidationError", "ValidationError")  # FastAPI's own shape of a 422


def document(
    returns: type[wire.Response] | None, *problems: int, status: int = 200, streams: str | None = None
) -> dict[str, Any]:
    """Return keyword arguments of a route.

    Args:
        streams: The media type in which the answer comes piece by piece, to those who ask for that.
    """
    responses: dict[int, dict[str, Any]] = {problem: describe_problem(problem) for problem in problems}
    if returns is not None:
        responses[status] = {"model": returns, "description": HTTPStatus(status).phrase}
    if streams is not None:
        responses[status]["content"] = {streams: {}}
    return {"responses": responses, "status_code": status, "response_model": None}


def document_commit(*problems: int) -> dict[str, Any]:
    """Return keyword arguments of a route that makes a commit, or tries one."""
    description = document(wire.EditReceipt, 404, 409, *problems, status=201)
    description["responses"] |= {
        200: {"model": wire.EditReceipt, "description": "Measured; nothing is committed"},
        202: {"model": wire.EditReceipt, "description": "Committed; not every replica has it yet"},
    }
    return description


def describe_problem(status: int) -> dict[str, Any]:
    return {
        "description": f"{HTTPStatus(status).phrase}: a problem document",
        "content": {PROBLEM: {"schema": {"$ref": SCHEMA.format(model=wire.Problem.__name__)}}},
    }


def install(app: FastAPI, open_to_all: bool = True) -> None:
    """Let the application describe itself in full.

    Args:
        open_to_all: Whether asking needs no key, so that /docs shows a padlock only where one is needed.
    """

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            document = get_openapi(
                title=app.title, version=app.version, description=app.description, routes=app.routes
            )
            models: dict[str, type[BaseModel]] = {wire.Problem.__name__: wire.Problem}
            for route in iter_route_contexts(app.routes):
                operations = document["paths"].get(route.path_format, {})
                for verb in route.methods or ():
                    if route.include_in_schema and verb.lower() in operations:
                        _complete(operations[verb.lower()], route, models, open_to_all)
                        _describe_parameters(operations[verb.lower()])
            schemas = models_json_schema(
                [(model, "validation") for model in models.values()], ref_template=SCHEMA
            )[1]
            parts = document.setdefault("components", {})
            parts.setdefault("schemas", {}).update(schemas["$defs"])
            for name in UNUSED_SCHEMAS:
                parts["schemas"].pop(name, None)
            _describe_fields(parts["schemas"])
            parts["securitySchemes"] = {KEY: {"type": "http", "scheme": "bearer"}}
            app.openapi_schema = document
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]  # FastAPI's documented way


def _complete(
    operation: dict[str, Any], route: RouteContext, models: dict[str, type[BaseModel]], open_to_all: bool
) -> None:
    """Add body, problems and security to FastAPI's description of a route, and the body's type to `models`."""
    operation["operationId"] = route.name
    summary = operation["description"].partition(". ")[0].removesuffix(".")
    operation["summary"] = summary.replace("`", "")
    problems: set[int] = set()
    security = ALWAYS if str(route.path_format).startswith(PREFIXES) else []
    for dependency in _dependencies(route.dependant):
        match dependency.call:
            case Guard(scope=scope):
                problems.update(GUARD_PROBLEMS, SCOPE_PROBLEMS if scope is not None else ())
                security = [] if scope == "ask" and open_to_all else ALWAYS
            case JsonBody(kind=kind, text_types=text_types):
                problems.update(BODY_PROBLEMS)
                models[kind.__name__] = kind
                content: dict[str, Any] = {"schema": {"$ref": SCHEMA.format(model=kind.__name__)}}
                if kind.__name__ in EXAMPLES:
                    content["example"] = EXAMPLES[kind.__name__]
                texts = {media_type: {"schema": {"type": "string"}} for media_type in text_types}
                operation["requestBody"] = {
                    "required": True,
                    "content": {"application/json": content, **texts},
                }
    responses = operation["responses"]
    if responses.pop("422", None):
        problems.update(PARAMETER_PROBLEMS)
    for status in sorted(problems):
        responses.setdefault(str(status), describe_problem(status))
    if route.path_format in (CHAT, RESPONSES):  # OpenAI's clients know no 422
        responses.pop("422", None)
        reference = {"schema": {"$ref": SCHEMA.format(model=ChatError.__name__)}}
        models[ChatError.__name__] = ChatError
        for status, response in responses.items():
            if int(status) >= 400:
                response["description"] = HTTPStatus(int(status)).phrase
                response["content"] = {"application/json": reference}
    operation["security"] = security


def _describe_parameters(operation: dict[str, Any]) -> None:
    for parameter in operation.get("parameters", []):
        name = parameter["name"]
        description = parameter.get("description") or PARAMETERS.get(name) or FIELDS.get(name, "")
        parameter["description"] = " ".join(description.split())


def _describe_fields(schemas: dict[str, Any]) -> None:
    for name, schema in schemas.items():
        for field, content in schema.get("properties", {}).items():
            default = AS_OPENAI if name.startswith(("Chat", "Stream", "Response")) else None
            common = FIELDS.get(f"{name}.{field}", FIELDS.get(field, default))
            description = content.get("description") or common
            if description is not None:
                content["description"] = " ".join(description.split())


def _dependencies(dependant: Dependant) -> Iterator[Dependant]:
    for dependency in dependant.dependencies:
        yield dependency
        yield from _dependencies(dependency)


def forward(
    router: APIRouter, editor: EditorClient, route: str, call: type[Call[Any]], *problems: int
) -> None:
    verb, path = route.split()
    parameters = signature(call).parameters

    async def endpoint(account: Account, request: Request, **fields: Any) -> Response:
        if request.query_params and not parameters:
            raise InvalidInput(f"{path} takes no parameters: leave out {str(request.query_params)[:80]!r}")
        query = call(**fields)
        await account.charge(query.work)
        return respond(await editor.call(query))

    of_route = [
        Parameter(name, Parameter.KEYWORD_ONLY, annotation=kind)
        for name, kind in (("account", RequestAccount), ("request", Request))
    ]
    all_parameters = [*parameters.values(), *of_route]
    endpoint.__signature__ = signature(call).replace(parameters=all_parameters)  # type: ignore[attr-defined]
    endpoint.__name__, endpoint.__doc__ = call.function_name(), call.__doc__
    router.add_api_route(path, endpoint, methods=[verb], **document(call.reply(), *problems))
