"""GET /v1/senses: the senses of words."""

from __future__ import annotations

from typing import Annotated

from errata.wire import SensesQuery, WordSenses
from fastapi import APIRouter, Query, Response

from service.http.deployment_client import EditorClient
from service.http.openapi import document
from service.http.responses import respond


def build_router(editor: EditorClient) -> APIRouter:
    """Build the route about one word."""
    router = APIRouter(tags=["senses"])

    @router.get("/v1/senses", **document(WordSenses, 404))
    async def get_senses(query: Annotated[SensesQuery, Query()]) -> Response:
        """Show a word by its senses: the words that each favours, its strength, and the edits that changed it."""
        return respond(await editor.senses(query.model_dump()))

    return router
