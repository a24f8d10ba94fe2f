"""Worklist: edits to look at again, and questions that were declined or nearly answered, to be answered or dropped."""

from __future__ import annotations

from collections.abc import Container
from contextlib import suppress
from urllib.parse import quote

from fastapi import APIRouter, Response

from service.console.correcting import REFUSALS
from service.console.pages import ConsolePage, Page, own_path, read_count, redirect
from service.console.session import PATH, Form
from service.local_routes import JSON, RouteRefusal

WORKLIST = f"{PATH}/worklist"
TICK = "line."  # beginning of the name of a tick, before the number of its line
MAX_GAPS = 2_000  # lines that the service keeps at most


def build_router() -> APIRouter:
    router = APIRouter()

    @router.get(WORKLIST)
    async def show(page: ConsolePage, closed: str = "") -> Response:
        reviews = await page.api.get("/admin/reviews", {"due": "true", "limit": 100})
        gaps = await page.api.get("/admin/gaps", {"limit": 100})
        return await page.render("worklist.html", {"reviews": reviews, "gaps": gaps, "closed": closed[:6]})

    @router.post(f"{WORKLIST}/drop")
    async def drop(page: ConsolePage) -> Response:
        """Take lines out: one, or those of a group."""
        return await drop_lines(page, await page.read_form())

    @router.post(f"{WORKLIST}/check")
    async def check(page: ConsolePage) -> Response:
        """Ask the lines again, and take out those that are answered now."""
        await page.read_form()
        lines = (await page.api.post("/admin/gap-checks", {}))["gaps"]
        return redirect(f"{WORKLIST}?closed={len(lines)}")

    @router.post(f"{PATH}/reviews/{{edit}}")
    async def review(page: ConsolePage, edit: str) -> Response:
        """Set the day on which an edit is looked at again, or take it away."""
        form, place = await page.read_form(), f"/admin/edits/{quote(edit, '')}"
        try:
            on = None if form.get("do") == "never" else form.get("on", "")
            await page.api.call("PUT", f"{place}/review", json={"on": on})
            return redirect(own_path(form.get("back", "")))
        except RouteRefusal as refusal:
            if refusal.status not in REFUSALS:
                raise
            detail = await page.api.get(place)
            fields = {"on": form.get("on", ""), "back": form.get("back", "")}
            values = {"edit": detail["edit"], "mistakes": page.describe(refusal), **fields}
            return await page.render("review.html", values, refusal.status)

    return router


def read_lines(form: Form) -> list[int]:
    """Return the numbers of the lines that a form names together or by ticks."""
    ticks = [name.removeprefix(TICK) for name in form if name.startswith(TICK)]
    numbers = [*form.get("lines", "").split(maxsplit=MAX_GAPS)[:MAX_GAPS], *ticks]
    return [read_count(number) for number in numbers if read_count(number)]


async def drop_lines(page: Page, form: Form) -> Response:
    for line in read_lines(form):
        try:
            await page.api.delete(f"/admin/gaps/{line}")
        except RouteRefusal as refusal:  # a line that is gone already is no mistake
            if refusal.status != 404:
                raise
    return redirect(WORKLIST)


async def read_gaps(page: Page) -> list[JSON]:
    """Return the lines of the worklist, as many as a page may read."""
    gaps: list[JSON] = (await page.api.get("/admin/gaps", {"limit": MAX_GAPS}))["gaps"]
    return gaps


async def take_out(page: Page, questions: Container[str]) -> None:
    """Take out the lines of questions that have an answer now; others go when the lines are asked again."""
    with suppress(RouteRefusal):
        for gap in await read_gaps(page):
            if gap["question"] in questions:
                await page.api.delete(f"/admin/gaps/{gap['line']}")
