"""All routes on one page, from what they need: models, the editor, keys. No Ray in here, so tests need none."""

from __future__ import annotations

from fastapi import Depends, FastAPI
from fastapi.responses import RedirectResponse
from fastapi_offline import FastAPIOffline
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from service.access.access import Access
from service.access.caller import ALL_SCOPES
from service.access.oidc import Claims, Jwks, OidcVerifier
from service.access.rate_limits import Rate
from service.backup.backup import Backup
from service.config import Oidc, Settings
from service.http import (
    answers,
    audit,
    backups,
    graph,
    health,
    history,
    imports,
    keys,
    openai,
    openapi,
    problems,
    state,
    tags,
    writes,
)
from service.http.audited import Audited
from service.http.callee import Callee
from service.http.callers import may
from service.http.identified import Identified
from service.http.measured import Measured
from service.http.models import Models
from service.http.secured import Secured
from service.metrics import metrics

TRACES_ALONE = {
    "metrics": False,
    "logs": False,
    "operation_spans": False,
}  # of the request, and none of its parts
ABOUT = "Question-answering models whose knowledge can be corrected while they run."


def application(settings: Settings, models: Models, editor: Callee) -> FastAPI:
    access = connected(settings)
    asks, reads, edits, admins = (may(access.gate, scope) for scope in ALL_SCOPES)
    app = FastAPIOffline(
        title="Errata", version="0.1.0", description=ABOUT, redoc_url=None, telemetry=TRACES_ALONE
    )
    problems.install(app)
    openapi.install(app)
    app.include_router(answers.routes(models), dependencies=[Depends(asks)])
    app.include_router(openai.routes(models), dependencies=[Depends(asks)])
    app.include_router(state.routes(models, editor), dependencies=[Depends(asks)])
    app.include_router(graph.routes(editor), dependencies=[Depends(asks)])
    app.include_router(writes.routes(editor, edits))
    app.include_router(imports.routes(editor, edits))
    app.include_router(history.routes(editor, reads))
    app.include_router(tags.routes(editor, reads, edits))
    app.include_router(keys.routes(access.keys, access.gate, may(access.gate, None), admins))
    app.include_router(audit.routes(access.audit, admins))
    app.include_router(backups.routes(Backup.over(access), models, admins))
    app.include_router(health.routes(models, editor, metrics.render, settings.replicas))
    app.get("/", include_in_schema=False)(_front_door)
    app.add_middleware(Audited, audit=access.audit)
    app.add_middleware(Secured, tls=settings.tls_cert is not None)
    if settings.proxies:
        app.add_middleware(ProxyHeadersMiddleware, trusted_hosts=list(settings.proxies))
    app.add_middleware(Measured)
    app.add_middleware(Identified)
    app.router.on_shutdown.append(access.aclose)
    app.state.access = access
    return app


def connected(settings: Settings) -> Access:
    assert settings.redis_url, "the launcher names the ledger's Redis"
    return Access.connect(
        settings.redis_url,
        settings.redis_timeout_s,
        settings.admin_key_sha256,
        Rate.parse(settings.key_rate, settings.max_concurrent),
        Rate.parse(settings.address_rate, settings.max_concurrent),
        settings.open_to_all,
        None if settings.oidc is None else _tokens(settings.oidc),
    )


def _tokens(oidc: Oidc) -> OidcVerifier:
    claims = Claims(oidc.issuer, oidc.audience, oidc.scopes, oidc.prefix, oidc.name)
    return OidcVerifier(claims, Jwks(oidc.issuer))


def _front_door() -> RedirectResponse:
    """A browser that is given the bare address finds what there is."""
    return RedirectResponse("/docs")
