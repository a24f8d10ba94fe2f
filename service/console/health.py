"""The page of the service's health: every part that the reader may see, and a sentence for each that is not well."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping

from fastapi import APIRouter, Response

from service.console.pages import ConsolePage, redirect
from service.console.session import PATH
from service.local_routes import JSON

HEALTH = f"{PATH}/health"
FULL = 0.8  # share of the slots of a memory above which it has little room left
ROUTES: Mapping[str, tuple[str, Mapping[str, str | int]]] = {  # part of the page -> its route
    "models": ("/v1/models", {}),
    "memory": ("/v1/memory", {}),
    "replicas": ("/admin/replicas", {}),
    "log": ("/admin/versions", {"limit": 1, "by_day": 30}),
    "checks": ("/admin/checks", {}),
    "hits": ("/admin/hits", {"limit": 10}),
    "reviews": ("/admin/reviews", {"due": "true", "limit": 1}),
}


def build_health_router() -> APIRouter:
    router = APIRouter()

    @router.get(HEALTH)
    async def show(page: ConsolePage) -> Response:
        """Show every part that the reader may see and the service can tell now."""
        bodies = await asyncio.gather(*(page.try_get(*route) for route in ROUTES.values()))
        parts = dict(zip(ROUTES, bodies, strict=True))
        faults = [page.trouble] if page.trouble else []
        faults += _find_faults({} if faults else page.state, parts)
        return await page.render("health.html", {**parts, "state": page.state, "faults": faults})

    @router.post(f"{HEALTH}/checks")
    async def check(page: ConsolePage) -> Response:
        """Run the fact tests of every active edit."""
        await page.read_form()
        await page.api.post("/admin/checks", {})
        return redirect(HEALTH)

    return router


def _find_faults(state: JSON, parts: Mapping[str, JSON]) -> Iterator[str]:
    """Yield a sentence for each replica, memory, edit and import that is not well."""
    models, checks = state.get("models") or {}, parts["checks"]
    for model, count in models.items():
        if count["current"] < count["live"]:
            yield f"{model}: {count['current']} of {count['live']} replicas are well and have the newest version."
    if (
        models
        and not state["converged"]
        and all(count["current"] == count["live"] for count in models.values())
    ):
        yield "Fewer replicas report than the service was started with."
    for replica in parts["replicas"].get("replicas", ()):
        if not replica["healthy"]:
            yield f"The replica {replica['replica']} is unwell: {replica['degraded'] or 'it does not answer'}."
    for name, room in parts["memory"].get("capacities", {}).items():
        if room["slots_used"] > FULL * room["slots_reserved"]:
            yield f"The memory {name} has little room left."
    if broken := parts["memory"].get("edits", {}).get("broken", 0):
        yield f"Edits whose questions do not get their answers any more: {broken:,}. The tests below name them."
    failing = len(checks.get("broken", ())) + len(checks.get("failing_tests", ()))
    if failing:
        yield f"Tests of edits that fail: {failing:,}."
    yield from (f"{damage}." for damage in checks.get("damaged_imports", ()))
