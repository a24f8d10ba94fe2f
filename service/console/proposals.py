"""Proposals: the list, one with its effect now, and the decision about it."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from fastapi import APIRouter, Response

from service.console.pages import ConsolePage, Page, read_number, redirect
from service.console.session import PATH
from service.local_routes import RouteRefusal

PROPOSALS = f"{PATH}/proposals"


def build_proposals_router() -> APIRouter:
    router = APIRouter()

    @router.get(PROPOSALS)
    async def show_all(page: ConsolePage, state: str = "open") -> Response:
        """List proposals, the newest first."""
        listing = await page.api.get("/admin/proposals", {"state": "all" if state == "all" else "open"})
        return await page.render("proposals.html", {**listing, "state": state})

    @router.get(f"{PROPOSALS}/{{number}}")
    async def show(page: ConsolePage, number: str, fresh: str = "") -> Response:
        """Show one proposal with its effect on the newest version."""
        return await _render(page, number, is_new=bool(fresh))

    @router.post(f"{PROPOSALS}/{{number}}")
    async def decide(page: ConsolePage, number: str) -> Response:
        """Make a proposal live, or reject it."""
        form = await page.read_form()
        path = f"/admin/proposals/{quote(number, '')}"
        try:
            if form.get("do") == "reject":
                await page.api.post(f"{path}/rejection", {"reason": form.get("reason", "")})
                return redirect(PROPOSALS)
            expected = form.get("expected", "")
            body = {"expected_version": read_number(expected)} if expected else {}
            proposal = await page.api.post(f"{path}/approval", body)
            return redirect(f"{PATH}/versions/{proposal['version']}?fresh=1")
        except RouteRefusal as refusal:
            if refusal.status not in (403, 404, 409, 422):
                raise
            return await _render(page, number, refusal.status, mistakes=page.describe(refusal))

    return router


async def _render(
    page: Page, number: str, status: int = 200, mistakes: Any = (), is_new: bool = False
) -> Response:
    proposal = await page.api.get(f"/admin/proposals/{quote(number, '')}")
    values = {"proposal": proposal, "mistakes": mistakes, "is_new": is_new}
    return await page.render("proposal.html", values, status)
