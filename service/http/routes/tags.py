"""The admin routes of tags: names that people give to versions."""

from __future__ import annotations

from typing import Annotated

from errata import wire
from fastapi import APIRouter, Path, Request, Response

from service.editing import operations as calls
from service.http.auth import get_caller
from service.http.body import json_body
from service.http.deployment_client import EditorClient
from service.http.middleware.audit import summarize
from service.http.openapi import document, forward
from service.http.responses import respond

Name = Annotated[wire.TagName, Path(description="The tag.")]
TagBody = Annotated[wire.TagRequest, json_body(wire.TagRequest)]


def build_tag_router(editor: EditorClient) -> APIRouter:
    router = APIRouter(tags=["history"])

    @router.put("/admin/tags/{name}", **document(wire.Tag, 404))
    async def put_tag(name: Name, body: TagBody, request: Request) -> Response:
        """Give a version this name, or move the name there."""
        summarize(request, f"version {body.version}")
        return respond(await editor.call(calls.PutTag(name, body.version, get_caller(request).name)))

    forward(router, editor, "DELETE /admin/tags/{name}", calls.DeleteTag, 404)
    return router
