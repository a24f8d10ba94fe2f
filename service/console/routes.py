"""The console's routes: its pages, and the files that they load; the pages for signing in and of the health."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.responses import RedirectResponse
from starlette.staticfiles import StaticFiles

from service.console import correcting, facts, files, worklist
from service.console.pages import SIGN_IN, START, STATIC, ConsolePage, install_refusals, own_path, redirect
from service.console.session import KEY, PATH, set_cookie
from service.local_routes import JSON, KeyNeeded, LocalRoutes, RouteRefusal

MAX_KEY = 16_000  # characters of a key or a token
UNKNOWN = "This key is not known here, or it has ended."


def build_sign_in_router() -> APIRouter:
    router = APIRouter()

    @router.get(SIGN_IN)
    async def show(page: ConsolePage, to: str = START) -> Response:
        return await page.render("sign_in.html", {"to": own_path(to), "fields": {}, "mistakes": []})

    @router.post(SIGN_IN)
    async def sign_in(page: ConsolePage, request: Request) -> Response:
        form = await page.read_form()
        to, key = own_path(form.get("to", "")), form.get("key", "")[:MAX_KEY]  # a longer one is unknown
        fields = {
            name.removeprefix("field."): value for name, value in form.items() if name.startswith("field.")
        }
        try:
            await LocalRoutes.of(request, key or None).get("/admin/keys/self")
        except RouteRefusal as refusal:
            mistakes = [UNKNOWN] if isinstance(refusal, KeyNeeded) else page.describe(refusal)
            values = {"to": to, "fields": fields, "mistakes": mistakes}
            return await page.render("sign_in.html", values, refusal.status)
        # A form that was written before the session ended is sent on by a press of a button.
        response = await page.render("go_on.html", {"to": to, "fields": fields}) if fields else redirect(to)
        set_cookie(response, request, KEY, key)
        return response

    @router.post(f"{PATH}/sign-out")
    async def sign_out(page: ConsolePage, request: Request) -> Response:
        await page.read_form()
        response = redirect(SIGN_IN)
        set_cookie(response, request, KEY, "")
        return response

    return router


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


def include_console(app: FastAPI) -> None:
    pages = APIRouter(include_in_schema=False)
    pages.add_api_route(PATH, lambda: RedirectResponse(START))
    for build in (
        *(build_sign_in_router, correcting.build_asking_router, correcting.build_router),
        *(worklist.build_proposals_router, facts.build_history_router, worklist.build_router),
        *(facts.build_router, files.build_router, build_health_router),
    ):
        pages.include_router(build())
    app.include_router(pages)
    app.mount(f"{PATH}/static", StaticFiles(directory=STATIC))
    app.add_api_route(f"{PATH}/{{rest:path}}", _miss, include_in_schema=False)
    install_refusals(app)


async def _miss(page: ConsolePage, rest: str) -> Response:
    return await page.refuse(
        RouteRefusal(404, {"code": "not_found", "detail": f"There is no page {rest!r} here."})
    )
