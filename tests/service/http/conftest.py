"""The ingress over a replica and an editor of the toy in this process, on a real server; only Ray is missing."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from errata.cli.app import build_cli
from fastapi import FastAPI
from mcp.server.mcpserver.tools import base
from mcp.server.mcpserver.utilities.func_metadata import FuncMetadata
from typer.testing import CliRunner, Result

from service.access.api_keys import fingerprint
from service.config import Settings
from service.editing.editor import Editor
from service.http.app import build_app
from service.http.deployment_client import EditorClient, ModelClient
from service.http.model_router import ModelRouter
from service.ledger.embedded.server import EmbeddedValkey
from service.ledger.store import RedisLedger
from service.replicas.replica import Replica
from tests.service.conftest import start_valkey
from tests.service.http.listening import listening
from tests.service.parts import settings, start_deployment

KEY = "a-key-for-tests-only"
ADMIN = {"authorization": f"Bearer {KEY}"}
JSON = {"content-type": "application/json"}
SHARED_LOOP = pytest.mark.asyncio(loop_scope="module")

Run = Callable[..., Awaitable[Result]]
"""Types words after `errata`; `key`: with this one instead of the admin's."""


arguments_of_tools: dict[Any, FuncMetadata] = {}
read_arguments = base.func_metadata


def find_arguments(function: Any, **options: Any) -> FuncMetadata:
    """Return what a tool of the MCP takes and returns, which is the same for the tools of every service."""
    key = (function.__func__, repr(options))
    if key not in arguments_of_tools:
        arguments_of_tools[key] = read_arguments(function, **options)
    return arguments_of_tools[key]


base.func_metadata = find_arguments


class LocalHandle:
    """Ray's DeploymentHandle over an object in this process; all values are pickled, as between processes."""

    def __init__(self, part: object) -> None:
        self._part = part

    def __getattr__(self, method: str) -> LocalMethod:
        return LocalMethod(self._part, method)

    def options(self, stream: bool) -> LocalStreamingHandle:
        assert stream
        return LocalStreamingHandle(self._part)


@dataclass(frozen=True)
class LocalMethod:
    part: object
    method: str

    async def remote(self, *args: Any, **marks: Any) -> Any:
        return _pickle(await getattr(self.part, self.method)(*_pickle(args), **marks))


@dataclass(frozen=True)
class LocalStreamingHandle:
    """The part of `handle.options(stream=True)`: a call returns a stream at once."""

    part: Any

    @property
    def stream(self) -> LocalStreamingHandle:
        return self

    def remote(self, *args: Any) -> LocalStream:
        return LocalStream(self.part.stream(*_pickle(args)))


@dataclass
class LocalStream:
    """Ray's DeploymentResponseGenerator, as far as it is used."""

    items: AsyncGenerator[Any]
    is_cancelled: bool = False

    async def __anext__(self) -> Any:
        return _pickle(await anext(self.items))

    def cancel(self) -> None:
        self.is_cancelled = True


def _pickle(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


def local_editor(part: object) -> EditorClient:
    return EditorClient(LocalHandle(part))


def local_router(parts: dict[str, Any], max_batch: int = 1, **options: Any) -> ModelRouter:
    clients = {name: ModelClient(LocalHandle(part), f"the model {name!r}") for name, part in parts.items()}
    return ModelRouter(clients, max_batch, **options)


@asynccontextmanager
async def client_of(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        yield client


@asynccontextmanager
async def serve(config: Settings, editor: Any, **parts: Any) -> AsyncIterator[FastAPI]:
    """Serve the systems of the settings, each by a replica of its own, and further parts in place of models."""
    async with AsyncExitStack() as stack:
        replicas = {
            name: await stack.enter_async_context(start_deployment(Replica, config, name))
            for name in config.systems
        }
        app = build_app(config, local_router(replicas | parts, config.max_batch), local_editor(editor))
        stack.push_async_callback(app.state.access.aclose)
        yield app


@pytest.fixture
def config(request: pytest.FixtureRequest, valkey: EmbeddedValkey, tmp_path: Path) -> Settings:
    """Return settings with what a module names in `OPTIONS`."""
    options = getattr(request.module, "OPTIONS", {})
    return settings(valkey.url, tmp_path, admin_key_sha256=fingerprint(KEY), **options)


@pytest.fixture
async def editor(config: Settings, ledger: RedisLedger) -> AsyncIterator[Editor]:
    async with start_deployment(Editor, config) as editor:
        yield editor


@pytest.fixture
async def app(config: Settings, editor: Editor) -> AsyncIterator[FastAPI]:
    async with serve(config, editor) as app:
        yield app


@pytest.fixture
async def stranger(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    """Without a key."""
    async with client_of(app) as client:
        yield client


@pytest.fixture
def http(stranger: httpx.AsyncClient) -> httpx.AsyncClient:
    """With the admin's key."""
    stranger.headers.update(ADMIN)
    return stranger


@pytest.fixture(scope="module")
def shared_config(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    """Return settings for the module's own server. A module may override it."""
    yield from serve_module(tmp_path_factory)


def serve_module(tmp_path_factory: pytest.TempPathFactory, **options: Any) -> Iterator[Settings]:
    folder = tmp_path_factory.mktemp("shared")
    with start_valkey() as server:
        sha256 = fingerprint(KEY)
        yield settings(server.url, folder, admin_key_sha256=sha256, version_wait_s=0.1, **options)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_app(shared_config: Settings) -> AsyncIterator[FastAPI]:
    """Make one application for all tests of a module that change nothing; they are marked SHARED_LOOP."""
    async with start_deployment(Editor, shared_config) as editor, serve(shared_config, editor) as app:
        yield app


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_http(shared_app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    """With the admin's key."""
    async with client_of(shared_app) as client:
        client.headers.update(ADMIN)
        yield client


@pytest.fixture
async def run(app: FastAPI) -> AsyncIterator[Run]:
    """Return a function that runs the command against the application on a real socket."""
    async with listening(app) as url:

        async def invoke(*words: str, key: str = KEY, input: str | None = None) -> Result:
            environment = {"ERRATA_URL": url, "ERRATA_KEY": key, "COLUMNS": "200"}
            return await asyncio.to_thread(
                CliRunner().invoke, build_cli(*words[:1]), list(words), env=environment, input=input
            )

        yield invoke
