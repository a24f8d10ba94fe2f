"""All routes on one page, from what they need: models, the editor, keys. No Ray in here, so tests need none."""

from __future__ import annotations

from fastapi import Depends, FastAPI
from fastapi.responses import RedirectResponse
from fastapi_offline import FastAPIOffline

from service import metrics
from service.access.keys import Keyring
from service.config import Settings
from service.http import answers, graph, health, history, imports, openapi, problems, state, writes
from service.http.callee import Callee
from service.http.callers import may, may_ask
from service.http.measured import Measured
from service.http.models import Models

ABOUT = "Question-answering models whose knowledge can be corrected while they run."


def application(settings: Settings, models: Models, editor: Callee) -> FastAPI:
    keyring = Keyring(settings.admin_key_sha256)
    asks, reads, edits = (may_ask(keyring, settings.host), may(keyring, "read"), may(keyring, "edit"))
    app = FastAPIOffline(title="Errata", version="0.1.0", description=ABOUT, redoc_url=None)
    problems.install(app)
    openapi.install(app)
    app.include_router(answers.routes(models), dependencies=[Depends(asks)])
    app.include_router(state.routes(models, editor), dependencies=[Depends(asks)])
    app.include_router(graph.routes(editor), dependencies=[Depends(asks)])
    app.include_router(writes.routes(editor, edits))
    app.include_router(imports.routes(editor, edits))
    app.include_router(history.routes(editor, reads))
    app.include_router(health.routes(models, editor, metrics.page, settings.replica_count))
    app.get("/", include_in_schema=False)(_front_door)
    app.add_middleware(Measured)
    return app


def _front_door() -> RedirectResponse:
    """A browser that is given the bare address finds what there is."""
    return RedirectResponse("/docs")
