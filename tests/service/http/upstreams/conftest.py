"""Errata on a real socket before an upstream on another."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI
from pydantic import SecretStr

from service.access.api_keys import fingerprint
from service.config import Settings
from service.ledger.embedded.server import EmbeddedValkey
from tests.service.http.conftest import ADMIN, KEY
from tests.service.http.listening import listening
from tests.service.http.upstreams.origin import Origin, start_origin
from tests.service.parts import settings

UPSTREAM_KEY = "sk-the-key-of-the-upstream"


@pytest.fixture
async def origin() -> AsyncIterator[Origin]:
    async with start_origin() as origin:
        yield origin


@pytest.fixture
def config(
    request: pytest.FixtureRequest, valkey: EmbeddedValkey, tmp_path: Path, origin: Origin
) -> Settings:
    defaults = {
        "upstreams": {"team": origin.url},
        "upstream_mode": {"team": "on"},
        "upstream_keys": {"team": SecretStr(UPSTREAM_KEY)},
        "gaps_days": 1,
    }
    options = getattr(request, "param", {})
    return settings(valkey.url, tmp_path, admin_key_sha256=fingerprint(KEY), **(defaults | options))


@pytest.fixture
async def client(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    """A client with the admin's key, over a real socket."""
    async with listening(app) as url, httpx.AsyncClient(base_url=url, headers=ADMIN) as client:
        yield client
