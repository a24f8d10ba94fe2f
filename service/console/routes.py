"""The console's routes: its pages, and the files that they load."""

from __future__ import annotations

from fastapi import APIRouter, FastAPI, Response
from fastapi.responses import RedirectResponse
from starlette.staticfiles import StaticFiles

from service.console import correcting, facts, files, health, sign_in, worklist
from service.console.pages import STATIC, ConsolePage, install_refusals
from service.console.session import PATH
from service.local_routes import RouteRefusal


def include_console(app: FastAPI) -> None:
    """Serve the console at `/console`."""
    pages = APIRouter(include_in_schema=False)
    pages.add_api_route(PATH, lambda: RedirectResponse(sign_in.START))
    for build in (
        *(sign_in.build_router, correcting.build_asking_router, correcting.build_router),
        *(worklist.build_proposals_router, facts.build_history_router, worklist.build_router),
        *(facts.build_router, files.build_router, health.build_router),
    ):
        pages.include_router(build())
    app.include_router(pages)
    app.mount(f"{PATH}/static", StaticFiles(directory=STATIC))
    app.add_api_route(f"{PATH}/{{rest:path}}", _miss, include_in_schema=False)
    install_refusals(app)


async def _miss(page: ConsolePage, rest: str) -> Response:
    return page.refuse(RouteRefusal(404, {"code": "not_found", "detail": f"There is no page {rest!r} here."}))
