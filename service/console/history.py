"""History: the log, a commit in words, the difference of two versions, and undoing with the effect shown first."""

from __future__ import annotations

import uuid
from typing import Any
from urllib.parse import quote

from fastapi import APIRouter, Response

from service.console.pages import ConsolePage, Page, read_count, read_number, redirect
from service.console.session import PATH, Form
from service.local_routes import JSON, RouteRefusal

HISTORY = f"{PATH}/history"
UNDO = f"{PATH}/undo"
PAGE, EDITS = 50, 100  # commits of a page, and edits of a commit


def build_history_router() -> APIRouter:
    router = APIRouter()

    @router.get(HISTORY)
    async def log(page: ConsolePage, before: str = "", grep: str = "", author: str = "") -> Response:
        """List commits, the newest first."""
        filters = {"grep": grep.strip(), "author": author.strip()}
        log = await page.api.get("/admin/versions", {"limit": PAGE, "before": before, **filters})
        tags = {tag["version"]: tag["name"] for tag in (await page.try_get("/admin/tags")).get("tags", ())}
        oldest = log["versions"][-1]["version"] if len(log["versions"]) == PAGE else None
        return await page.render("history.html", {**filters, "log": log, "oldest": oldest, "tags": tags})

    @router.get(f"{PATH}/versions/{{version}}")
    async def show(page: ConsolePage, version: str, fresh: str = "", after: str = "") -> Response:
        """Show one commit and its report; a commit of many edits is shown in parts, each `after` so many edits."""
        commit = await page.api.get(f"/admin/versions/{quote(version, '')}", {"wait_report": True})
        return await page.render("version.html", {"is_new": fresh != "", **_cut(commit, after)})

    @router.get(f"{PATH}/diff")
    async def compare(page: ConsolePage, older: str = "", newer: str = "") -> Response:
        """List what two versions answer differently."""
        head = (await page.api.get("/admin/versions", {"limit": 1}))["head"]
        sides = {"older": older or str(max(0, head - 1)), "newer": newer or str(head)}
        diff = await page.api.get("/admin/diff", {"from": sides["older"], "to": sides["newer"]})
        return await page.render("diff.html", {**sides, "diff": diff})

    @router.post(UNDO)
    async def undo(page: ConsolePage) -> Response:
        """Show the effect of taking something back, or take it back."""
        form = await page.read_form()
        try:
            path, body = _order(form)
            if form.get("do") == "commit":
                receipt = await page.api.post(path, body, form.get("once") or None)
                return redirect(f"{PATH}/versions/{receipt['version']}?fresh=1")
            receipt = await page.api.post(path, {**body, "dry_run": True})
        except RouteRefusal as refusal:
            if refusal.status not in (404, 409, 422):
                raise
            return await _render_undo(page, form, refusal.status, mistakes=page.describe(refusal))
        edits = await _list_edits(page, form)
        return await _render_undo(page, form, report=receipt["report"], once=uuid.uuid4().hex, edits=edits)

    return router


async def _list_edits(page: Page, form: Form) -> list[JSON]:
    """Return the active edits that are taken back; none for a version to return to."""
    if form.get("edit"):
        return [(await page.api.get(f"/admin/edits/{quote(form['edit'], '')}"))["edit"]]
    if form.get("to"):
        return []
    commit = await page.api.get(f"/admin/versions/{quote(form.get('version', ''), '')}")
    return [edit for edit in commit["edits"] if edit["active"]]


def _cut(commit: JSON, after: str) -> JSON:
    """Leave the edits after so many in a commit, as a page takes; return their number, and where other parts start.

    Also return whether any edit is active, so that there is something to take back.
    """
    is_active = not commit["edits"] or any(edit["active"] for edit in commit["edits"])
    start, n_edits = read_count(after), len(commit["edits"])
    for body in (commit, commit["report"]):
        if "edits" in body:
            body["edits"] = body["edits"][start : start + EDITS]
    starts = [place for place in range(0, n_edits, EDITS) if place != start]
    counts = {"n_edits": n_edits, "other_starts": starts, "size": EDITS}
    return {"commit": commit, "is_active": is_active, **counts}


def _order(form: Form) -> tuple[str, JSON]:
    """Return the route and the body that a form asks for: one edit, a commit, or a version to return to."""
    message = {"message": form.get("message", "")}
    if form.get("edit"):
        return "/admin/reverts", {"edits": [form["edit"]], **message}
    if form.get("to"):
        return "/admin/rollbacks", {"to": read_number(form["to"]), **message}
    return "/admin/reverts", {"version": read_number(form.get("version", "")), **message}


async def _render_undo(page: Page, form: Form, status: int = 200, **values: Any) -> Response:
    fields = {name: form.get(name, "") for name in ("edit", "to", "version", "message")}
    defaults: dict[str, Any] = {"mistakes": [], "report": None, "once": "", "edits": []}
    return await page.render("undo.html", {**defaults, **values, "form": fields}, status)
