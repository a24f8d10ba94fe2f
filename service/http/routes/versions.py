"""The admin routes about versions: the log, one commit, the difference of two, fact tests, replicas, tags."""

from __future__ import annotations

from typing import Annotated

from errata.wire import (
    LARGEST_VERSION,
    ActiveEditList,
    CheckReport,
    Diff,
    EditDetail,
    ReplicaList,
    Tag,
    TagList,
    TagName,
    TagRequest,
    VersionDetail,
    VersionLog,
)
from fastapi import APIRouter, Path, Query, Request, Response

from service.http.auth import get_caller
from service.http.body import json_body
from service.http.deployment_client import EditorClient
from service.http.middleware.audit import summarize
from service.http.openapi import document
from service.http.responses import respond

MAX_LOG = 1_000

Limit = Annotated[int, Query(ge=1, le=MAX_LOG)]
Grep = Annotated[str | None, Query(min_length=1, max_length=256, description="A text in the commit.")]
Author = Annotated[str | None, Query(max_length=256, description="Who made the commit.")]
Since = Annotated[
    float | None, Query(ge=0, le=1e11, description="Only commits made from then on, in seconds since 1970.")
]
ByDay = Annotated[int, Query(ge=0, le=366, description="Number of days, today the last, to count edits of.")]
Before = Annotated[int | None, Query(ge=1, le=LARGEST_VERSION)]
Commit = Annotated[int, Path(ge=1, le=LARGEST_VERSION)]
From = Annotated[int, Query(alias="from", ge=0, le=LARGEST_VERSION)]
To = Annotated[int, Query(ge=0, le=LARGEST_VERSION)]
EditId = Annotated[str, Path(max_length=64, description="The id of an edit.")]
Name = Annotated[TagName, Path(description="The tag.")]
TagBody = Annotated[TagRequest, json_body(TagRequest)]


def build_router(editor: EditorClient) -> APIRouter:
    router = APIRouter(tags=["history"])
    router.include_router(build_edits_router(editor))

    @router.get("/admin/versions", **document(VersionLog))
    async def list_versions(
        limit: Limit = 20,
        before: Before = None,
        grep: Grep = None,
        author: Author = None,
        since: Since = None,
        by_day: ByDay = 0,
    ) -> Response:
        """List the newest commits; `before` continues from an older one. `by_day` counts edits by the day."""
        return respond(await editor.log(limit, before, grep, author, since, by_day))

    @router.get("/admin/versions/{version}", **document(VersionDetail, 404))
    async def get_version(version: Commit, wait_report: bool = False) -> Response:
        """Return one commit: its edits, its writes, and its report. `wait_report` waits until that is measured."""
        return respond(await editor.show(version, wait_report))

    @router.get("/admin/diff", **document(Diff, 404))
    async def compare_versions(older: From, to: To) -> Response:
        """List the questions that two versions answer differently."""
        return respond(await editor.diff(older, to))

    @router.get("/admin/checks", **document(CheckReport, 404))
    async def get_checks(superseded: bool = False) -> Response:
        """Return the last report of the fact tests. `superseded` lists those that a later edit replaces, too."""
        return respond(await editor.last_check(superseded))

    @router.get("/admin/replicas", **document(ReplicaList))
    async def list_replicas() -> Response:
        """List version, checksums, lag and health of each replica."""
        return respond(await editor.replicas())

    @router.get("/admin/tags", **document(TagList))
    async def list_tags() -> Response:
        """List every tag, the newest version first."""
        return respond(await editor.tags())

    return router


def build_edits_router(editor: EditorClient) -> APIRouter:
    """Build the routes that read edits."""
    router = APIRouter()

    @router.get("/admin/edits", **document(ActiveEditList, 413))
    async def list_active_edits() -> Response:
        """Return every active edit in the form in which POST takes it, in the ledger's order."""
        return respond(await editor.active_edits())

    @router.get("/admin/edits/{id}", **document(EditDetail, 404))
    async def get_edit(id: EditId) -> Response:
        """Return one edit with the author, time and message of its commit."""
        return respond(await editor.show_edit(id))

    return router


def build_tag_router(editor: EditorClient) -> APIRouter:
    """Build the routes that change tags."""
    router = APIRouter(tags=["history"])

    @router.put("/admin/tags/{name}", **document(Tag, 404))
    async def put_tag(name: Name, body: TagBody, request: Request) -> Response:
        """Give a version this name, or move the name there."""
        summarize(request, f"version {body.version}")
        return respond(await editor.tag(name, body.version, get_caller(request).name))

    @router.delete("/admin/tags/{name}", **document(Tag, 404))
    async def delete_tag(name: Name) -> Response:
        """Take the name away; the version stays."""
        return respond(await editor.untag(name))

    return router
