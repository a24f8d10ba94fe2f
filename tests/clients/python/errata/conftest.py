"""The HTTP side of the tiny service, checked by the wire types, and clients that talk to it.

The blocking client and the command reach it over a real socket (uvicorn on a free port of 127.0.0.1), the
asyncio client in process, through httpx's ASGITransport.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import httpx
import pytest
import uvicorn
from errata import AsyncErrata, Errata, Retry, wire
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response, StreamingResponse
from pydantic import ValidationError

from service.graph.linking.folding import search_key

KEY = "right-key"
AT_ONCE = Retry(first_pause_s=0.001, longest_pause_s=0.01)


def problem(status: int, code: str, detail: str, **extras: Any) -> JSONResponse:
    retry = {"retry-after": str(extras.pop("retry_after"))} if "retry_after" in extras else {}
    body = {"type": "about:blank", "title": code, "status": status, "code": code, "detail": detail, **extras}
    return JSONResponse(body, status, media_type="application/problem+json", headers=retry)


def build(tiny: Any) -> FastAPI:
    app = FastAPI()

    @app.middleware("http")
    async def inject_trouble(request: Request, go_on: Callable[..., Any]) -> Response:
        tiny.requests.append((request, await request.body()))
        if tiny.trouble:
            return tiny.trouble.pop(0)
        if request.url.path.startswith("/admin") and request.headers.get("authorization") != f"Bearer {KEY}":
            return problem(401, "unauthorized", "this route needs a key")
        receipt = tiny.receipts.get(request.headers.get("idempotency-key", "none"))
        return JSONResponse(receipt.model_dump(mode="json"), 201) if receipt else await go_on(request)

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        return problem(422, "invalid_input", str(error.errors()[0]["msg"]))

    _public_routes(app, tiny)
    _reading_routes(app, tiny)
    _writing_routes(app, tiny)
    _graph_routes(app, tiny)
    return app


def _public_routes(app: FastAPI, tiny: Any) -> None:
    @app.post("/v1/answers")
    async def answers(body: wire.AnswerRequest) -> Any:
        if body.version is not None and body.version > tiny.head:
            return problem(404, "not_found", f"there is no version {body.version}")
        return tiny.answer(body)

    @app.post("/v1/answers/batch")
    async def batch(body: wire.BatchRequest) -> wire.BatchResponse:
        return wire.BatchResponse(results=[answer_item(tiny, item) for item in body.questions])

    @app.get("/v1/models")
    async def models() -> wire.ModelList:
        card = wire.ModelCard(
            id="nkb",
            memories=[wire.MemoryCard(name="nkb/bank", base="sha256:" + "0" * 64, accepts=["answer"])],
            methods=["gated", "surgery"],
            ready=True,
            replicas=2,
            details={"slots": 4096},
        )
        return wire.ModelList(data=[card])

    @app.get("/v1/memory")
    async def memory() -> wire.MemoryState:
        counts = wire.EditCounts(active=len(tiny.active[-1]), reverted=0, superseded=0)
        return wire.MemoryState(version=tiny.head, checksums={"nkb/bank": "sha256:" + "0" * 64}, edits=counts)


def answer_item(tiny: Any, item: Any) -> wire.BatchResult:
    try:
        return wire.BatchResult(answer=tiny.answer(wire.AnswerRequest.model_validate(item)))
    except ValidationError as error:
        detail = error.errors()[0]["msg"]
        return wire.BatchResult(
            problem=wire.Problem(title="Invalid input", status=422, code="invalid_input", detail=detail)
        )


def _reading_routes(app: FastAPI, tiny: Any) -> None:
    @app.get("/admin/versions")
    async def log(limit: int = 20, before: int | None = None) -> wire.VersionLog:
        newest = tiny.head if before is None else before - 1
        versions = range(newest, max(newest - limit, 0), -1)
        return wire.VersionLog(versions=[tiny.summary(version) for version in versions], head=tiny.head)

    @app.get("/admin/versions/{version}")
    async def show(version: int) -> Any:
        exists = 0 < version <= tiny.head
        return tiny.detail(version) if exists else problem(404, "not_found", f"there is no version {version}")

    @app.get("/admin/edits/{id}")
    async def show_edit(id: str) -> Any:
        version = int(id.removeprefix("e"))
        exists = 0 < version <= tiny.head
        return tiny.edit_detail(version) if exists else problem(404, "not_found", f"there is no edit {id!r}")

    @app.get("/admin/why")
    async def why(question: str, model: str | None = None, version: int | None = None) -> wire.WhyReport:
        return tiny.why(question, model, version)

    @app.get("/admin/scope")
    async def scope(question: str, version: int | None = None) -> wire.ScopeReport:
        return tiny.scope(question, version)

    @app.get("/admin/diff")
    async def diff(request: Request) -> wire.Diff:
        return tiny.diff(int(request.query_params["from"]), int(request.query_params["to"]))

    @app.api_route("/admin/checks", methods=["GET", "POST"])
    async def checks() -> wire.CheckReport:
        return tiny.check()

    @app.get("/admin/replicas")
    async def replicas() -> wire.ReplicaList:
        return wire.ReplicaList(head=tiny.head, replicas=tiny.replicas())

    @app.get("/admin/keys/self")
    async def whoami() -> wire.Whoami:
        return wire.Whoami(name="curator", scopes=["read", "edit"])


def _writing_routes(app: FastAPI, tiny: Any) -> None:
    def keep(request: Request, receipt: wire.EditReceipt) -> Response:
        if receipt.version is not None and "idempotency-key" in request.headers:
            tiny.receipts[request.headers["idempotency-key"]] = receipt
        status = 200 if receipt.version is None else 201 if receipt.all_applied else 202
        return JSONResponse(receipt.model_dump(mode="json"), status)

    @app.post("/admin/edits")
    async def edit(request: Request, body: wire.EditRequest) -> Response:
        if body.expected_version not in (None, tiny.head):
            return problem(409, "stale_version", f"the ledger is at version {tiny.head}", current=tiny.head)
        refused = [refusal.model_dump() for refusal in tiny.refused(body.edits)]
        if refused and body.measure and not body.skip_refused:
            return problem(422, "edit_refused", refused[0]["detail"], reason="unspeakable", refused=refused)
        if all(tiny.is_known(edit) for edit in body.edits) and body.measure and not body.dry_run:
            return problem(409, "nothing_to_do", "there is nothing to edit", refused=refused)
        return keep(request, tiny.edit(body))

    @app.post("/admin/reverts")
    async def revert(request: Request, body: wire.RevertRequest) -> Response:
        version = body.version or int(body.edits[0], 16)  # of the tiny edits, each is a version's only one
        if version not in tiny.active[-1]:
            return problem(409, "nothing_to_do", f"version {version} is taken back already")
        return keep(request, tiny.undo("revert", tiny.active[-1] - {version}, body, body.version))

    @app.post("/admin/rollbacks")
    async def rollback(request: Request, body: wire.RollbackRequest) -> Response:
        return keep(request, tiny.undo("rollback", tiny.active[body.to], body, body.to))


def _graph_routes(app: FastAPI, tiny: Any) -> None:
    @app.get("/v1/entities")
    async def entities(q: str, limit: int = 20, version: int = 3) -> Any:
        matches = [entity for entity in tiny.entities if search_key(entity.label).startswith(search_key(q))]
        heads = [wire.EntityHead.model_validate(entity.model_dump()) for entity in matches[:limit]]
        bearers = [
            entity.id
            for entity in matches
            if search_key(q) in map(search_key, (entity.label, *entity.aliases))
        ]
        return wire.EntityList(version=version, entities=heads, bearers=bearers)

    @app.get("/v1/entities/{id:path}")
    async def entity(id: str) -> Any:
        by_id = {entity.id: entity for entity in tiny.entities}
        return by_id.get(id) or problem(404, "not_found", f"the graph has no entity {id}")

    @app.post("/admin/graph/import")
    async def importing(request: Request, dry_run: bool = False) -> Response:
        lines = tiny.importing(await request.body(), dry_run)
        if "receipt" in lines[-1]:
            receipt = wire.ImportReceipt.model_validate(lines[-1]["receipt"])
            tiny.receipts[request.headers.get("idempotency-key", "none")] = receipt
        stream = (json.dumps(line) + "\n" for line in lines)
        return StreamingResponse(stream, media_type="application/x-ndjson")


class Server:
    """uvicorn in a thread; each test sets the tiny service that it shows."""

    def __init__(self) -> None:
        self.app: Any = None
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}"
        config = uvicorn.Config(self._serve, interface="asgi3", lifespan="off", ws="none", log_level="error")
        self.uvicorn = uvicorn.Server(config)
        self.thread = threading.Thread(target=self.uvicorn.run, kwargs={"sockets": [self.socket]})

    async def _serve(self, scope: Any, receive: Any, send: Any) -> None:
        await self.app(scope, receive, send)


@pytest.fixture(scope="session")
def running() -> Iterator[Server]:
    server = Server()
    server.thread.start()
    while not server.uvicorn.started:
        time.sleep(0.01)
    yield server
    server.uvicorn.should_exit = True
    server.thread.join(timeout=10)
    server.socket.close()


@pytest.fixture
def app(tiny: Any) -> FastAPI:
    return build(tiny)


@pytest.fixture
def url(running: Server, app: FastAPI) -> str:
    running.app = app
    return running.url


@pytest.fixture
def errata(url: str) -> Iterator[Errata]:
    with Errata(url, key=KEY, retry=AT_ONCE) as client:
        yield client


@pytest.fixture
async def async_errata(app: FastAPI) -> AsyncIterator[AsyncErrata]:
    transport = httpx.ASGITransport(app=app)
    async with AsyncErrata("http://tiny", key=KEY, retry=AT_ONCE, transport=transport) as client:
        yield client


@pytest.fixture
def trouble(tiny: Any) -> Callable[..., None]:
    """Make the next requests fail: trouble(status, code, times=1, retry_after=...)."""

    def cause(status: int, code: str, times: int = 1, **extras: Any) -> None:
        tiny.trouble += [problem(status, code, f"trouble: {code}", **extras) for _ in range(times)]

    return cause
