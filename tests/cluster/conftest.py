"""Two running services, each for all tests that can share it, and stopped after the last of them: running costs cores.

`service` is for those that leave it well: two replicas of the toy, its own Valkey, its own Ray; its traces are
collected, of the requests that ask for it. `closed` is for those that want keys and TLS, or kill it whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from errata import Errata

from tests.cluster.closed import Closed
from tests.cluster.collector import Collector, collecting
from tests.cluster.running import Service


@pytest.fixture(scope="package")
def collector() -> Iterator[Collector]:
    with collecting() as collector:
        yield collector


@pytest.fixture(scope="package")
def service(tmp_path_factory: pytest.TempPathFactory, collector: Collector) -> Iterator[Service]:
    words = ["--traces", collector.url, "--traces-share", "0"]
    service = Service(tmp_path_factory.mktemp("service") / "var", replicas=2, words=words)
    try:
        yield service.start()
    finally:
        service.stop()


@pytest.fixture(scope="package")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Closed]:
    closed = Closed(tmp_path_factory.mktemp("closed"))
    try:
        closed.start()
        yield closed
    finally:
        closed.kill_everything()


@pytest.fixture
def trusted(closed: Closed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By what reads SSL_CERT_FILE."""
    closed.authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))


@pytest.fixture
def errata(service: Service) -> Iterator[Errata]:
    with service.errata() as client:
        yield client


@pytest.fixture
def http(service: Service) -> Iterator[httpx.Client]:
    with service.http() as client:
        yield client
