"""Editors of a toy, on a real server; replicas here are heartbeats, since an editor sees no more of them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from service.editing.deployment import Editor
from service.ledger.embedded.server import EmbeddedValkey
from service.ledger.store import RedisLedger
from tests.service.parts import settings, started

Starting: TypeAlias = Callable[..., AbstractAsyncContextManager[Editor]]


@pytest.fixture
def another(valkey: EmbeddedValkey, ledger: RedisLedger, tmp_path: Path) -> Starting:
    """Starts one more editor on the same ledger."""

    def start(**more: Any) -> AbstractAsyncContextManager[Editor]:
        return started(Editor, settings(valkey.url, tmp_path, **more))

    return start


@pytest.fixture
async def editor(another: Starting) -> AsyncIterator[Editor]:
    async with another() as editor:
        yield editor
