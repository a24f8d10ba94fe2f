"""Worklist: edits to look at again, and questions that were declined or nearly answered, to be answered or dropped."""

from __future__ import annotations

from urllib.parse import quote

from fastapi import APIRouter, Response

from service.console.correcting import REFUSALS
from service.console.pages import ConsolePage, redirect
from service.console.session import PATH
from service.console.sign_in import own_path
from service.local_routes import RouteRefusal

WORKLIST = f"{PATH}/worklist"


def build_router() -> APIRouter:
    router = APIRouter()

    @router.get(WORKLIST)
    async def show(page: ConsolePage) -> Response:
        reviews = await page.api.get("/admin/reviews", {"due": "true", "limit": 100})
        gaps = await page.api.get("/admin/gaps", {"limit": 100})
        return page.render("worklist.html", {"reviews": reviews, "gaps": gaps})

    @router.post(f"{WORKLIST}/drop")
    async def drop(page: ConsolePage) -> Response:
        """Take lines out: those of a group, or one."""
        for line in (await page.read_form()).get("lines", "").split():
            try:
                await page.api.delete(f"/admin/gaps/{int(line)}")
            except (RouteRefusal, ValueError) as error:  # a line that is gone already is no mistake
                if getattr(error, "status", 404) != 404:
                    raise
        return redirect(WORKLIST)

    @router.post(f"{WORKLIST}/check")
    async def check(page: ConsolePage) -> Response:
        """Ask the lines again, and take out those that are answered now."""
        await page.read_form()
        await page.api.post("/admin/gap-checks", {})
        return redirect(WORKLIST)

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
            return page.render("review.html", values, refusal.status)

    return router
