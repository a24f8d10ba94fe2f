"""Correct: an answer or a fact is written down, tried, and made live with the report of the trial in sight."""

from __future__ import annotations

import hashlib
import json
import uuid
from contextlib import suppress
from typing import Any
from urllib.parse import quote

from errata.wire.documents import DOCUMENT, DOCUMENTS
from fastapi import APIRouter, Response

from service.console.pages import (
    MAX_LIST,
    ConsolePage,
    Page,
    lines_of,
    own_path,
    read_count,
    read_number,
    redirect,
)
from service.console.session import PATH, Form
from service.local_routes import JSON, RouteRefusal

CORRECT = f"{PATH}/correct"
FIELDS = (
    "kind", "question", "answer", "wordings", "counterexamples",
    "subject", "relation", "object", "act", "message", "review", "line", "old", "named",
    "back", "create", "model", "replaces", "document", "title", "media_type", "text",
)  # fmt: skip
STALE, DONE = "stale_version", "nothing_to_do"  # codes of problems
REFUSALS = (400, 403, 404, 409, 413, 422, 503)  # after which a form is shown as it was filled in
CHOICES = {  # buttons beside a refusal that asks back
    "set": {"act": "set"},
    "add": {"act": "add"},
    "create": {"create": "on"},
}
MAX_NEWS = 20  # commits of others that are listed


def build_router() -> APIRouter:
    router = APIRouter()

    @router.get(CORRECT)
    async def show(page: ConsolePage) -> Response:
        """Show the form, filled with what the address says."""
        return await _render(page, dict(page.request.query_params))

    @router.post(CORRECT)
    async def correct(page: ConsolePage) -> Response:
        """Try the correction of a form, or commit it after its trial."""
        form = await page.read_form()
        if (choice := form.get("do", "")) in CHOICES:
            form |= CHOICES[choice]
        try:
            if form.get("do") == "propose":
                proposal = await page.api.post("/admin/proposals", _body(form))
                if "read" in page.may:
                    return redirect(f"{PATH}/proposals/{proposal['number']}?fresh=1")
                return await page.render("sent.html", {"number": proposal["number"]})
            if form.get("do") == "commit" and form.get("trial") == _digest(form):
                body = {**_body(form), "expected_version": read_number(form.get("expected") or "0")}
                receipt = await page.api.post("/admin/edits", body, form.get("once") or None)
                await _take_out(page, form)
                if form.get("back"):
                    return redirect(f"{own_path(form['back'])}?fresh={receipt['version']}")
                return redirect(f"{PATH}/versions/{receipt['version']}?fresh=1")
            return await _try(page, form, is_changed=form.get("do") == "commit")
        except RouteRefusal as refusal:
            if refusal.status not in REFUSALS:
                raise
            if refusal.code == STALE:
                return await _try(page, form, 409, await read_news(page, form.get("expected", "")))
            if refusal.code == DONE and form.get("line"):  # its answer is right already
                await _take_out(page, form)
                return redirect(f"{PATH}/worklist?closed=1")
            return await _render(
                page, form, refusal.status, mistakes=page.describe(refusal), code=refusal.code
            )

    return router


async def _try(
    page: Page, form: Form, status: int = 200, news: Any = (), is_changed: bool = False
) -> Response:
    head = (await page.api.get("/admin/versions", {"limit": 1}))["head"]
    receipt = await page.api.post("/admin/edits", {**_body(form), "dry_run": True})
    values = {"expected": head, "once": uuid.uuid4().hex, "trial": _digest(form), "news": news}
    values["is_changed"] = is_changed
    return await _render(page, form, status, report=receipt["report"], **values)


async def _take_out(page: Page, form: Form) -> None:
    """Take the line of the worklist out that a form answers, if it is one."""
    if form.get("line"):
        with suppress(RouteRefusal):  # the line is done with already, or goes when the lines are asked again
            await page.api.delete(f"/admin/gaps/{quote(form['line'], '')}")


def _digest(form: Form) -> str:
    """Return a digest of what a form asks for, by which a change after its trial is known."""
    return hashlib.sha256(json.dumps(_body(form)).encode()).hexdigest()


def _body(form: Form) -> JSON:
    items: list[JSON] = []
    if form.get("kind") == "document":
        change = {name: form[name] for name in ("title", "media_type", "text") if form.get(name)}
        item: JSON = {
            "memory": DOCUMENTS,
            "kind": DOCUMENT,
            "change": {"id": form.get("document", ""), **change},
        }
    elif form.get("kind") == "fact":
        item = {name: form.get(name, "") for name in ("subject", "relation", "object")}
        if form.get("act") == "swap":  # one of several values
            items, item = [{**item, "object": form.get("old", ""), "act": "remove"}], {**item, "act": "add"}
        elif form.get("act"):
            item["act"] = form["act"]
        if form.get("create"):
            item["create"] = True
    else:
        item = {"question": form.get("question", ""), "answer": form.get("answer", "")}
        item |= {
            "paraphrases": lines_of(form.get("wordings", "")),
            "counterexamples": lines_of(form.get("counterexamples", "")),
            "replaces": [
                read_number(edit)
                for edit in form.get("replaces", "").replace(",", " ").split(maxsplit=MAX_LIST)
            ],
        }
        item |= {"model": form["model"]} if form.get("model") else {}
    review = {"review": form["review"]} if form.get("review") else {}
    return {"edits": [*items, item], "message": form.get("message", ""), **review}


async def read_news(page: Page, expected: str) -> list[JSON]:
    """Return the commits that others made since a version, the newest first."""
    versions = (await page.api.get("/admin/versions", {"limit": MAX_NEWS}))["versions"]
    return [version for version in versions if version["version"] > read_count(expected)]


async def _render(page: Page, form: Form, status: int = 200, **values: Any) -> Response:
    fields = {name: form.get(name, "") for name in FIELDS}
    defaults: JSON = {
        "mistakes": [],
        "report": None,
        "expected": None,
        "once": "",
        "trial": "",
        "news": (),
        "code": "",
        "is_changed": False,
    }
    return await page.render("correct.html", {**defaults, **values, "form": fields}, status)
