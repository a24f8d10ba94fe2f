"""A small service with two systems, a table of questions and a graph, to which the pages' commands are typed."""

from __future__ import annotations

from pathlib import Path

import pytest

from service.access.api_keys import fingerprint
from service.config import Settings
from service.curation import buffered_counter
from service.ledger.embedded.server import EmbeddedValkey
from tests.service.conftest import ledger, raw, valkey
from tests.service.http.conftest import KEY, app, editor, run
from tests.service.parts import settings
from tests.service.toy_graph import TOYS

__all__ = ["app", "config", "editor", "ledger", "raw", "run", "valkey"]


@pytest.fixture
def config(valkey: EmbeddedValkey, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Return settings of a service that counts questions at once; the commands run in a new folder."""
    monkeypatch.setattr(buffered_counter, "WRITE_EVERY_S", 0.01)
    monkeypatch.chdir(tmp_path)
    return settings(valkey.url, tmp_path, systems=TOYS, admin_key_sha256=fingerprint(KEY), gaps_days=1)
