"""Routes that only forward a call to the editor: their parameters are its fields, their text its docstring."""

# `from __future__ import annotations` is left out: FastAPI reads the annotations of the route.
from inspect import Parameter, signature
from typing import Any

from fastapi import APIRouter, Response

from service.editing.call import Call
from service.http.auth import Account, RequestAccount
from service.http.deployment_client import EditorClient
from service.http.openapi import document
from service.http.responses import respond


def forward(
    router: APIRouter, editor: EditorClient, route: str, call: type[Call[Any]], *problems: int
) -> None:
    """Add a route."""
    verb, path = route.split()

    async def endpoint(account: Account, **fields: Any) -> Response:
        query = call(**fields)
        await account.charge(query.work)
        return respond(await editor.call(query))

    parameters = signature(call).parameters.values()
    account = Parameter("account", Parameter.KEYWORD_ONLY, annotation=RequestAccount)
    endpoint.__signature__ = signature(call).replace(parameters=[*parameters, account])  # type: ignore[attr-defined]
    endpoint.__name__, endpoint.__doc__ = call.function_name(), call.__doc__
    router.add_api_route(path, endpoint, methods=[verb], **document(call.reply(), *problems))
