"""One real cluster for all tests that leave its nodes alive; those that kill or freeze one start their own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.service.ledger.redis.clusters import LocalCluster, local_cluster


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    with local_cluster(tmp_path_factory.mktemp("cluster")) as nodes:
        yield nodes


@pytest.fixture
def own_cluster(tmp_path: Path) -> Iterator[LocalCluster]:
    with local_cluster(tmp_path) as nodes:
        yield nodes
