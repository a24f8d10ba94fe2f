"""The ingress over a replica and an editor of the toy in this process, on a real server; only Ray is missing."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import AsyncIterator, Awaitable, Callable
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
from service.http.application import application
from service.http.models import Models
from service.ledger.embedded.server import EmbeddedValkey
from service.ledger.store import RedisLedger
from service.replicas.replica import Replica
from tests.service.http.listening import listening
from tests.service.parts import settings, started

KEY = "a-key-for-tests-only"

Run = Callable[..., Awaitable[Result]]
"""Types words after `errata`; `key`: with this one instead of the admin's."""


class InProcess:
    """A Callee whose other end is an object here; what crosses is pickled, as between processes."""

    def __init__(self, part: object) -> None:
        self._part = part

    async def call(self, method: str, *args: Any, limit_s: float) -> Any:
        async with asyncio.timeout(limit_s):
            return _crossed(await getattr(self._part, method)(*_crossed(args)))


def _crossed(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


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
        models = Models({"toy": InProcess(replica)}, chosen.max_batch)
        app = application(chosen, models, InProcess(editor))
        yield app
        await app.state.access.aclose()


@pytest.fixture
async def stranger(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    """Without a key."""
    transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://errata") as client:
        yield client


@pytest.fixture
def http(stranger: httpx.AsyncClient) -> httpx.AsyncClient:
    """With the admin's key."""
    stranger.headers["authorization"] = f"Bearer {KEY}"
    return stranger


@pytest.fixture
async def run(app: FastAPI) -> AsyncIterator[Run]:
    """The command, against the application on a real socket."""
    async with listening(app) as url:

        async def typed(*words: str, key: str = KEY) -> Result:
            own = {"ERRATA_URL": url, "ERRATA_KEY": key, "COLUMNS": "200"}
            return await asyncio.to_thread(CliRunner().invoke, command, list(words), env=own)

        yield typed
