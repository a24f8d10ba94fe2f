"""The console's routes: its pages, and the files that they load."""

from __future__ import annotations

from fastapi import APIRouter, FastAPI
from fastapi.responses import RedirectResponse
from starlette.staticfiles import StaticFiles

from service.console import asking, correcting, looking_back, proposing, sign_in, worklist
from service.console.pages import STATIC, install_refusals
from service.console.session import PATH


def include_console(app: FastAPI) -> None:
    """Serve the console at `/console`."""
    pages = APIRouter(include_in_schema=False)
    pages.add_api_route(PATH, lambda: RedirectResponse(sign_in.START))
    for part in (sign_in, asking, correcting, proposing, looking_back, worklist):
        pages.include_router(part.build_router())
    app.include_router(pages)
    app.mount(f"{PATH}/static", StaticFiles(directory=STATIC))
    install_refusals(app)
