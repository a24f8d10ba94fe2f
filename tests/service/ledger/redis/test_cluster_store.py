"""The ledger's promises on a single server hold on a cluster: the same tests, with another server."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import redis

from service.ledger.store import RedisLedger
from tests.service.ledger.redis.clusters import LocalCluster
from tests.service.ledger.redis.test_connection import (
    test_replies_have_the_shapes_that_the_store_takes_apart,  # noqa: F401
    test_what_the_server_refuses_keeps_the_servers_words,  # noqa: F401
)
from tests.service.ledger.test_snapshots import (
    test_at_every_version_of_any_history_a_load_gives_the_fold_bit_for_bit,  # noqa: F401
    test_manifests_are_thinned_and_none_is_missed_by_who_looks_meanwhile,  # noqa: F401
    test_the_nearest_manifest_is_the_newest_that_is_not_newer,  # noqa: F401
)
from tests.service.ledger.test_store import *  # noqa: F403


@pytest.fixture
def valkey(cluster: LocalCluster) -> LocalCluster:
    """Return a server whose `url` is the ledger's master, so that `raw` reads and damages its data."""
    return cluster


@pytest.fixture
async def ledger(cluster: LocalCluster, raw: redis.Redis) -> AsyncIterator[RedisLedger]:
    """Return a ledger that knows only one node, which has none of its data."""
    ledger = RedisLedger.connect(cluster.other_masters[0].url)
    yield ledger
    await ledger.aclose()
