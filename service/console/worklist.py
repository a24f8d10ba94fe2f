"""Worklist: questions that were declined or nearly answered, by missing fact and by line, to be answered or dropped."""

from __future__ import annotations

from fastapi import APIRouter, Response

from service.console.pages import ConsolePage, redirect
from service.console.session import PATH
from service.local_routes import RouteRefusal

WORKLIST = f"{PATH}/worklist"


def build_router() -> APIRouter:
    router = APIRouter()

    @router.get(WORKLIST)
    async def show(page: ConsolePage) -> Response:
        return page.render("worklist.html", {"gaps": await page.api.get("/admin/gaps", {"limit": 100})})

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

    return router
