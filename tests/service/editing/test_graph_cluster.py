"""On a Redis Cluster the graph is written, asked, cleaned up and reverted as on a single server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import redis

from service.config import Settings
from service.editing.deployment import Editor
from service.replicas.replica import Replica
from tests.service.editing.requests import revert
from tests.service.graph.requests import (
    CAPITAL,
    answers,
    checksums,
    entity,
    fact,
    import_file,
    import_notes,
    rows,
    tsv,
)
from tests.service.ledger.redis.clusters import LocalCluster, local_cluster
from tests.service.parts import ask, body_of, settings, start_deployment
from tests.service.toy_graph import TOYS

TOWNS = tsv(*((f"Town {n}", "capital", f"House {n}") for n in range(5_000)))


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    with local_cluster(tmp_path_factory.mktemp("graph-cluster")) as nodes:
        yield nodes


@pytest.fixture
def vandal(nodes: LocalCluster) -> Iterator[redis.Redis]:
    """Return a client of the node with the ledger and all keys of the graph."""
    with redis.Redis.from_url(nodes.url) as client:
        client.flushall()
        yield client


@pytest.fixture
def config(nodes: LocalCluster, vandal: redis.Redis, tmp_path: Path) -> Settings:
    return settings(nodes.other_masters[0].url, tmp_path, systems=TOYS)


@pytest.fixture
async def editor(config: Settings) -> AsyncIterator[Editor]:
    async with start_deployment(Editor, config) as editor:
        yield editor


async def test_a_file_is_imported_asked_and_taken_back(
    editor: Editor, config: Settings, vandal: redis.Redis
) -> None:
    base = await checksums(editor)
    assert (await import_file(editor, TOWNS))["status"] == 201
    assert (len(rows(vandal)) > 60, import_notes(vandal)) == (True, {})
    await fact(editor, "Town 7", "capital", "Tent")
    async with start_deployment(Replica, config, "atlas") as replica:
        requests = [{"question": f"capital of Town {n}"} for n in range(0, 5_000, 100)]
        replies = [body_of(outcome) for outcome in await replica.answer_many(requests)]
        assert [reply["answer"] for reply in replies] == [f"House {n}" for n in range(0, 5_000, 100)]
        assert (await ask(replica, "capital of Town 7"))["answer"] == "Tent"
        assert (await ask(replica, "capital of Town 7", version=1))["answer"] == "House 7"
        assert (await entity(editor, "n:town_7"))["facts"][0]["added_in"] == 2
        await revert(editor, 1)
        await revert(editor, 2)
        assert (await ask(replica, "capital of Town 8", min_version=4))["answer"] is None
        assert (await ask(replica, CAPITAL))["answer"] == "Lima"
    assert await checksums(editor) == base


async def test_what_is_not_committed_leaves_nothing(editor: Editor, vandal: redis.Redis) -> None:
    assert (await import_file(editor, TOWNS, dry_run=True))["status"] == 200
    assert (rows(vandal), import_notes(vandal)) == (set(), {})
    session = body_of(await editor.import_begin({}, "ana"))["import"]
    await editor.import_feed(session, TOWNS)
    await fact(editor, "Peru", "capital", "Cusco")
    assert body_of(await editor.import_finish(session, "none"))["code"] == "graph_moved"
    assert (rows(vandal), import_notes(vandal)) == (set(), {})
    assert await answers(editor, CAPITAL, "capital of Town 7") == ["Cusco", None]
