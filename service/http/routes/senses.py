"""GET /v1/senses and POST /admin/bias: the senses of words, and the sense that carries a difference."""

from __future__ import annotations

from typing import Annotated

from errata.wire import BiasReport, BiasRequest, SensesQuery, WordSenses
from fastapi import APIRouter, Query, Request, Response

from service.http.body import Bounds, json_body
from service.http.deployment_client import EditorClient
from service.http.middleware.audit import summarize
from service.http.openapi import document
from service.http.responses import respond

BiasBody = Annotated[BiasRequest, json_body(BiasRequest, Bounds(4_000_000, 16_000))]


def build_router(editor: EditorClient) -> APIRouter:
    """Build the route about one word."""
    router = APIRouter(tags=["senses"])

    @router.get("/v1/senses", **document(WordSenses, 404))
    async def get_senses(query: Annotated[SensesQuery, Query()]) -> Response:
        """Show a word by its senses: the words that each favours, its strength, and the edits that changed it."""
        return respond(await editor.senses(query.model_dump()))

    return router


def build_study_router(editor: EditorClient) -> APIRouter:
    """Build the route that takes seconds."""
    router = APIRouter(tags=["senses"])

    @router.post("/admin/bias", **document(BiasReport, 404))
    async def measure_bias(body: BiasBody, request: Request) -> Response:
        """Tell which sense carries the difference between two words, and what multipliers on it do."""
        pairs = ", ".join("/".join(pair) for pair in body.pairs) or "the model's own"
        summarize(request, f"bias between {pairs}; nothing is changed")
        return respond(await editor.bias(body.model_dump()))

    return router
