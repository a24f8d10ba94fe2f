"""Editors of a toy, on a real server; replicas are heartbeats here, which is all that an editor sees of them."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import pytest
import redis
import torch

from models.nkb.system import load
from models.system import Bundle
from service.editing.editor import Editor
from service.ledger.embedded.server import EmbeddedValkey
from service.ledger.store import RedisLedger
from tests.service.parts import settings, start_deployment

StartEditor: TypeAlias = Callable[..., AbstractAsyncContextManager[Editor]]


@pytest.fixture
def start_editor(valkey: EmbeddedValkey, ledger: RedisLedger, tmp_path: Path) -> StartEditor:
    """Start one more editor on the same ledger."""

    def start(**options: Any) -> AbstractAsyncContextManager[Editor]:
        return start_deployment(Editor, settings(valkey.url, tmp_path, **options))

    return start


@pytest.fixture
async def editor(request: pytest.FixtureRequest, start_editor: StartEditor) -> AsyncIterator[Editor]:
    """Start an editor with what a module names in `OPTIONS`."""
    async with start_editor(**getattr(request.module, "OPTIONS", {})) as editor:
        yield editor


@pytest.fixture
def vandal(own_valkey: EmbeddedValkey) -> Iterator[redis.Redis]:
    """Return a store that reads and damages rows of the test's server."""
    with redis.Redis.from_url(own_valkey.url) as client:
        yield client


@cache
def load_nkb(device: torch.device, dtype: torch.dtype) -> Bundle:
    return load(device, dtype)


@pytest.fixture
async def nkb_editor(valkey: EmbeddedValkey, ledger: RedisLedger, tmp_path: Path) -> AsyncIterator[Editor]:
    """Start an editor of the default model."""
    systems = {"nkb": "tests.service.editing.conftest:load_nkb"}
    async with start_deployment(Editor, settings(valkey.url, tmp_path, systems=systems)) as editor:
        yield editor
