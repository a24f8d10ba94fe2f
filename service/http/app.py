"""All routes on one page, made from models, the editor and keys. No Ray in here, so tests need none."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

from fastapi import Depends, FastAPI
from fastapi.responses import RedirectResponse
from fastapi_offline import FastAPIOffline
from starlette.middleware.cors import CORSMiddleware
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from service.access.access import Access
from service.access.caller import ALL_SCOPES
from service.access.oidc import Claims, Jwks, OidcVerifier
from service.access.rate_limits import Rate
from service.backup.backup import Backup
from service.config import Settings
from service.console.routes import include_console
from service.curation.buffered_counter import BufferedCounter
from service.curation.gaps import Occurrence, Worklist
from service.curation.hits import HitCounts, Hits
from service.curation.proposals import Proposals
from service.http import openapi
from service.http.auth import Guard
from service.http.auto import AutoRouter
from service.http.deployment_client import EditorClient
from service.http.edited_facts import FactFinder
from service.http.failures import install_handlers
from service.http.middleware.audit import AuditMiddleware
from service.http.middleware.compression import CompressionMiddleware
from service.http.middleware.edge import (
    HeadMiddleware,
    MetricsMiddleware,
    OriginMiddleware,
    RequestIdMiddleware,
    SecurityHeadersMiddleware,
)
from service.http.model_router import ModelRouter
from service.http.openai import chat, responses, rest
from service.http.openai.edit_match import Matcher
from service.http.openai.upstream_models import UpstreamModels
from service.http.openai.upstream_request import UpstreamRequests
from service.http.openai.upstreams import OUTCOMES, Gateway
from service.http.routes import (
    answers,
    audit,
    backups,
    documents,
    edit_history,
    edits,
    gaps,
    graph,
    keys,
    proposals,
    status,
    tags,
)
from service.http.routes.status import Readiness
from service.http.upstream_answers import UpstreamAnswers
from service.ledger.store import RedisLedger
from service.mcp.server import include_mcp
from service.metrics import metrics
from service.upstream.pool import Pool
from service.upstream.upstream import build_upstreams

# A span of the request, not of its parts.
MAX_HITS_WAITING = 100_000  # edits whose answers wait to be counted, of some 200 bytes each
TELEMETRY = {"metrics": False, "logs": False, "operation_spans": False}
PAGE_METHODS = ("GET", "POST", "PUT", "DELETE")  # methods of pages of other origins that may call
DESCRIPTION = "Question-answering models whose knowledge can be corrected while they run."


def build_app(settings: Settings, models: ModelRouter, editor: EditorClient) -> FastAPI:
    """Build the application. Its `state.access` is closed at shutdown.

    Middleware that is added last is outermost: a request gets its id, is measured, gets the address that a
    trusted proxy names and security headers, is audited, refused to foreign pages, and then routed; an
    unexpected error is answered inside of all of these.
    """
    access = _connect(settings)
    app = FastAPIOffline(
        title="Errata", version="0.1.0", description=DESCRIPTION, redoc_url=None, telemetry=TELEMETRY
    )
    install_handlers(app)
    openapi.install(app, settings.open_to_all)
    pool = Pool(upstreams := build_upstreams(settings), metrics.set_upstream_refused)
    worklist, sightings, hits = _build_tallies(settings, access)
    on_gap = None if sightings is None else sightings.add
    build_questions = partial(AutoRouter, models, settings.max_batch, settings.model_to_ask)
    if upstreams:
        fact_finder = FactFinder(models) if settings.upstream_facts else None
        matcher = Matcher(models, settings.model_to_correct, settings.scope_replaces, hits.add, on_gap)
        app.state.upstream_requests = UpstreamRequests(upstreams, Gateway(pool, matcher, fact_finder).respond)
        metrics.begin_at_zero(metrics.UPSTREAM_REQUESTS, upstreams, OUTCOMES)
        upstream_answers = UpstreamAnswers(upstreams, pool, models, settings.model_to_correct, fact_finder)
        build_questions = partial(build_questions, upstreams=upstream_answers)
    questions = build_questions(on_gap=on_gap, on_hit=hits.add)
    state = status.build_router(models, editor, UpstreamModels(upstreams, pool).list_cards)
    app.include_router(state, dependencies=[Depends(Guard(access.gate, "ask"))])
    # Questions of curators are neither gaps nor hits of users.
    _include_routes(app, settings, access, models, editor, questions, build_questions(), worklist)
    readiness = Readiness(models, editor, settings.min_replicas, pool.list_failing)
    app.router.on_startup.append(readiness.start)
    app.router.on_shutdown.append(readiness.aclose)
    if upstreams:
        rest.add_route(app, Guard(access.gate, "ask"))
    app.include_router(status.build_probe_router(readiness, metrics.render))
    if settings.console:
        include_console(app)
    include_mcp(app, settings.url, None if settings.oidc is None else settings.oidc.issuer)
    app.add_api_route("/", lambda: RedirectResponse("/docs"), include_in_schema=False)
    _add_middleware(app, settings, access)

    async def close() -> None:
        await hits.aclose()
        if sightings is not None:
            await sightings.aclose()
        metrics.AUDIT_LOST.inc(await access.aclose())
        await pool.aclose()

    app.router.on_shutdown.append(close)
    app.state.access = access
    return app


def _connect(settings: Settings) -> Access:
    assert settings.redis_url, "the launcher names the ledger's Redis"
    return Access.connect(
        settings.redis_url,
        settings.redis_timeout_s,
        settings.admin_key_sha256,
        Rate.parse(settings.key_rate, settings.concurrent_limit),
        Rate.parse(settings.address_rate, settings.concurrent_limit),
        settings.open_to_all,
        _verify_tokens(settings),
        metrics.count_rate_limited,
        3_600 * settings.key_outage_hours,
    )


def _build_tallies(
    settings: Settings, access: Access
) -> tuple[Worklist | None, BufferedCounter[Occurrence] | None, BufferedCounter[Hits]]:
    """Build the worklist, its count of questions, and the count of answers by edits."""
    days = settings.gaps_days  # 0 where no questions are kept for curators
    worklist = Worklist(access.connection, timedelta(days=days)) if days else None
    sightings = (
        None if worklist is None else BufferedCounter[Occurrence]("unanswered questions", worklist.add)
    )
    hits = BufferedCounter[Hits]("answers of edits", HitCounts(access.connection).add, MAX_HITS_WAITING)
    return worklist, sightings, hits


def _include_routes(
    app: FastAPI,
    settings: Settings,
    access: Access,
    models: ModelRouter,
    editor: EditorClient,
    questions: AutoRouter,
    inquiries: AutoRouter,
    worklist: Worklist | None,
) -> None:
    """Include every route with its guard."""
    proposal_store, max_bytes = Proposals(access.connection), settings.import_limits.disk_bytes
    ask, read, propose, edit, admin = (Guard(access.gate, scope) for scope in ALL_SCOPES)
    for router, guard in (
        (answers.build_router(questions), ask),
        (chat.build_router(questions, settings.decline_as == "content"), ask),
        (responses.build_router(questions, settings.decline_as == "content"), ask),
        (graph.build_router(editor), ask),
        (graph.build_senses_router(editor), ask),
        (documents.build_documents_router(editor), ask),
        (documents.build_document_edit_router(editor), edit),
        (edits.build_router(editor), edit),
        (graph.build_import_router(editor), edit),
        (graph.build_table_router(editor), read),
        (edit_history.build_history_router(inquiries, editor), read),
        (gaps.build_router(worklist, settings.gaps_days), read),
        (gaps.build_edit_router(worklist, inquiries, editor), edit),
        (proposals.build_router(proposal_store, editor), read),
        (proposals.build_propose_router(proposal_store, editor), propose),
        (proposals.build_decision_router(proposal_store, editor, settings.self_approval), edit),
        (tags.build_tag_router(editor), edit),
        (keys.build_self_router(), Guard(access.gate, None)),
        (keys.build_router(access.keys, access.gate), admin),
        (audit.build_audit_router(access.audit), admin),
        (
            backups.build_backup_router(
                Backup(RedisLedger(access.connection), access.keys, access.audit), models, max_bytes
            ),
            admin,
        ),
    ):
        app.include_router(router, dependencies=[Depends(guard)])


def _add_middleware(app: FastAPI, settings: Settings, access: Access) -> None:
    """Add the middleware that every request passes; the last one is outermost."""
    app.add_middleware(HeadMiddleware)
    app.add_middleware(CompressionMiddleware)
    origins = frozenset(settings.allowed_origins)
    app.add_middleware(
        OriginMiddleware, hosts=settings.host_names, pages=frozenset(settings.allowed_hosts), origins=origins
    )
    if origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(origins),
            allow_methods=list(PAGE_METHODS),
            allow_headers=["authorization", "content-type", "idempotency-key"],
            expose_headers=["errata-version", "errata-code", "retry-after", "x-request-id"],
        )
    app.add_middleware(AuditMiddleware, audit=access.audit)
    app.add_middleware(SecurityHeadersMiddleware, tls=settings.tls_cert is not None)
    if settings.proxies:
        app.add_middleware(ProxyHeadersMiddleware, trusted_hosts=list(settings.proxies))
    app.add_middleware(MetricsMiddleware)
    app.add_middleware(RequestIdMiddleware)


def _verify_tokens(settings: Settings) -> OidcVerifier | None:
    oidc = settings.oidc
    if oidc is None:
        return None
    claims = Claims(oidc.issuer, oidc.audience, oidc.scopes, oidc.prefix, oidc.name)
    return OidcVerifier(claims, Jwks(oidc.issuer, oidc.jwks_host))
