"""A replica and an editor of the one system that a module names: `SYSTEM`, its name and its loader."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from service.config import Settings
from service.editing.editor import Editor
from service.ledger.embedded.server import EmbeddedValkey
from service.ledger.store import RedisLedger
from service.replicas.replica import Replica
from tests.service.parts import settings, start_deployment


@pytest.fixture
def config(
    request: pytest.FixtureRequest, valkey: EmbeddedValkey, ledger: RedisLedger, tmp_path: Path
) -> Settings:
    name, loader = request.module.SYSTEM
    return settings(valkey.url, tmp_path, systems={name: loader}, max_batch=64)


@pytest.fixture
async def replica(config: Settings) -> AsyncIterator[Replica]:
    async with start_deployment(Replica, config, *config.systems) as replica:
        yield replica


@pytest.fixture
async def editor(config: Settings, replica: Replica) -> AsyncIterator[Editor]:
    async with start_deployment(Editor, config) as editor:
        yield editor
