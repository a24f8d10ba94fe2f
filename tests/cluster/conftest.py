"""One running service for all tests that leave it well: two replicas of the toy, its own Valkey, its own Ray."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from errata import Errata

from tests.cluster.running import Service


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    service = Service(tmp_path_factory.mktemp("service") / "var", replicas=2)
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
