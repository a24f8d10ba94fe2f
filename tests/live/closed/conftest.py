"""One running service for tests that need keys and TLS, or kill it whole."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.live.closed.closed import Closed


@pytest.fixture(scope="package")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Closed]:
    closed = Closed(tmp_path_factory.mktemp("closed"))
    try:
        closed.start()
        yield closed
    finally:
        closed.kill_everything()


@pytest.fixture
def ca_trust(closed: Closed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By what reads SSL_CERT_FILE."""
    closed.authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
