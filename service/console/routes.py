"""The console's routes: its pages, and the files that they load."""

from __future__ import annotations

from fastapi import APIRouter, FastAPI, Response
from fastapi.responses import RedirectResponse
from starlette.staticfiles import StaticFiles

from service.console import asking, correcting, facts, files, history, proposals, worklist
from service.console.health import build_health_router
from service.console.pages import START, STATIC, ConsolePage, install_refusals
from service.console.session import PATH
from service.console.sign_in import build_sign_in_router
from service.local_routes import RouteRefusal


def include_console(app: FastAPI) -> None:
    pages = APIRouter(include_in_schema=False)
    pages.add_api_route(PATH, lambda: RedirectResponse(START))
    for build in (
        *(build_sign_in_router, asking.build_asking_router, correcting.build_router),
        *(proposals.build_proposals_router, history.build_history_router, worklist.build_router),
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
