"""One running service for all tests that leave it well, and stopped after the last of them: running costs cores.

Two replicas of the toy, its own Valkey, its own Ray; its traces are collected, of the requests that ask for it.
"""

from collections.abc import Iterator

import httpx
import pytest
from errata import Errata

from tests.cluster.collector import Collector, collecting
from tests.cluster.running import Service


@pytest.fixture(scope="package")
def collector() -> Iterator[Collector]:
    with collecting() as collector:
        yield collector


@pytest.fixture(scope="package")
def service(tmp_path_factory: pytest.TempPathFactory, collector: Collector) -> Iterator[Service]:
    words = ["--traces", collector.url, "--trace-sample-rate", "0", "--ack-timeout-s", "60"]
    service = Service(tmp_path_factory.mktemp("service") / "var", replicas=2, words=words)
    try:
        yield service.start()
    finally:
        service.stop()


@pytest.fixture
def errata(service: Service) -> Iterator[Errata]:
    with service.errata() as client:
        yield client


@pytest.fixture
def http(service: Service) -> Iterator[httpx.Client]:
    with service.http() as client:
        yield client
