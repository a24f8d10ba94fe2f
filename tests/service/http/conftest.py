"""The ingress over a replica and an editor of the toy in this process, on a real server; only Ray is missing."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from errata.cli.app import app as command
from fastapi import FastAPI
from typer.testing import CliRunner, Result

from service.access.api_keys import fingerprint
from service.config import Settings
from service.editing.deployment import Editor
from service.http.app import build_app
from service.http.deployment_client import EditorClient, ModelClient
from service.http.model_router import ModelRouter
from service.ledger.embedded.server import EmbeddedValkey
from service.ledger.store import RedisLedger
from service.replicas.replica import Replica
from tests.service.http.listening import listening
from tests.service.parts import settings, started

KEY = "a-key-for-tests-only"
ADMIN = {"authorization": f"Bearer {KEY}"}

Run = Callable[..., Awaitable[Result]]
"""Types words after `errata`; `key`: with this one instead of the admin's."""


class LocalHandle:
    """Ray's DeploymentHandle over an object in this process; what crosses is pickled, as between processes."""

    def __init__(self, part: object) -> None:
        self._part = part

    def __getattr__(self, method: str) -> LocalMethod:
        return LocalMethod(self._part, method)


@dataclass(frozen=True)
class LocalMethod:
    part: object
    method: str

    async def remote(self, *args: Any) -> Any:
        return _pickle(await getattr(self.part, self.method)(*_pickle(args)))


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
    async with httpx.AsyncClient(transport=transport, base_url="http://errata") as client:
        yield client


@pytest.fixture
def chosen(valkey: EmbeddedValkey, tmp_path: Path) -> Settings:
    return settings(valkey.url, tmp_path, admin_key_sha256=fingerprint(KEY), replicas=1)


@pytest.fixture
async def editor(chosen: Settings, ledger: RedisLedger) -> AsyncIterator[Editor]:
    async with started(Editor, chosen) as editor:
        yield editor


@pytest.fixture
async def app(chosen: Settings, editor: Editor) -> AsyncIterator[FastAPI]:
    async with started(Replica, chosen, "toy") as replica:
        app = build_app(chosen, local_router({"toy": replica}, chosen.max_batch), local_editor(editor))
        yield app
        await app.state.access.aclose()


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


@pytest.fixture
async def run(app: FastAPI) -> AsyncIterator[Run]:
    """The command, against the application on a real socket."""
    async with listening(app) as url:

        async def invoke(*words: str, key: str = KEY) -> Result:
            own = {"ERRATA_URL": url, "ERRATA_KEY": key, "COLUMNS": "200"}
            return await asyncio.to_thread(CliRunner().invoke, command, list(words), env=own)

        yield invoke
