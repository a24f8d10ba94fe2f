"""While the ledger is away the history is readable and writes are refused; the editor recovers without a restart."""

import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import redis

from service.editing import editor as editing
from service.editing.editor import Editor
from service.editing.operations import CompareVersions, GetVersion, ListReplicas, ListVersions, RunChecks
from service.ledger.embedded.server import EmbeddedValkey
from service.ledger.keys import SCHEMA
from service.ledger.layout_version import LAYOUT
from service.metrics import metrics
from tests.service.editing.requests import FRANCE, PERU, change, checksum, head, revert
from tests.service.parts import body_of, sample, settings, start_deployment, wait_until


@pytest.fixture
async def editor(own_valkey: EmbeddedValkey, tmp_path: Path) -> AsyncIterator[Editor]:
    async with start_deployment(Editor, settings(own_valkey.url, tmp_path)) as editor:
        yield editor


async def test_history_is_read_and_edits_refused_while_the_server_is_dead(
    editor: Editor, own_valkey: EmbeddedValkey
) -> None:
    await change(editor, PERU, "Cusco")
    before = await checksum(editor)
    own_valkey.stop()
    refused = await change(editor, FRANCE, "Lyon")
    assert (refused["status"], refused["code"]) == (503, "ledger_unavailable")
    assert (await revert(editor, 1))["status"] == 503
    assert (await head(editor), await checksum(editor)) == (1, before)
    assert body_of(await editor.call(GetVersion(1)))["edits"][0]["answer"] == "Cusco"
    assert body_of(await editor.call(CompareVersions(0, 1)))["changes"][0]["before"] == "Lima"
    assert body_of(await editor.call(RunChecks()))["holding"] == 1
    assert body_of(await editor.call(ListReplicas()))["status"] == 503
    assert (await editor.ready())["degraded"] == "ledger_unavailable"


async def test_editing_goes_on_when_the_server_is_back(editor: Editor, own_valkey: EmbeddedValkey) -> None:
    await change(editor, PERU, "Cusco")
    assert own_valkey.pid is not None
    os.kill(own_valkey.pid, signal.SIGKILL)
    assert (await change(editor, FRANCE, "Lyon"))["status"] == 503
    own_valkey.stop()
    own_valkey.start()
    assert (await change(editor, FRANCE, "Lyon"))["version"] == 2
    assert await editor.ready() == {"ready": True, "version": 2, "degraded": None}


async def test_an_editor_starts_without_the_ledger_and_reads_it_later(tmp_path: Path) -> None:
    with EmbeddedValkey(tmp_path / "valkey") as server:
        async with start_deployment(Editor, settings(server.url, tmp_path)) as first:
            await change(first, PERU, "Cusco")
        server.stop()
        async with start_deployment(Editor, settings(server.url, tmp_path)) as editor:
            assert body_of(await editor.call(ListVersions(5)))["code"] == "ledger_unavailable"
            server.start()
            assert await head(editor) == 1
            assert (await change(editor, PERU, "Puno"))["version"] == 2


async def test_the_server_is_looked_at_before_anything_of_it_is_read(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with EmbeddedValkey(tmp_path / "valkey") as server, redis.Redis.from_url(server.url) as client:
        server.stop()
        async with start_deployment(Editor, settings(server.url, tmp_path)) as editor:
            server.start()
            client.config_set("appendfsync", "everysec")
            assert await head(editor) == 0
            assert client.get(SCHEMA) == str(LAYOUT).encode()
            assert await head(editor) == 0
        assert len([message for message in caplog.messages if "appendfsync is not always" in message]) == 1


async def test_data_of_a_newer_errata_is_neither_read_nor_written(
    own_valkey: EmbeddedValkey, tmp_path: Path
) -> None:
    with redis.Redis.from_url(own_valkey.url) as client:
        client.set(SCHEMA, LAYOUT + 1)
    async with start_deployment(Editor, settings(own_valkey.url, tmp_path)) as editor:
        assert (await editor.ready())["ready"] is False
        refused = await change(editor, PERU, "Cusco")
        assert refused["status"] == 503
        assert "start the newer one" in refused["detail"]


async def test_test_status_and_capacity_are_published_once_the_ledger_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(editing, "RETRY_S", 0.05)
    with EmbeddedValkey(tmp_path / "valkey") as server:
        async with start_deployment(Editor, settings(server.url, tmp_path)) as first:
            await change(first, PERU, "Cusco")
        server.stop()
        metrics.EDIT_STATES.clear()
        metrics.SLOTS.clear()
        async with start_deployment(Editor, settings(server.url, tmp_path)):
            assert sample("errata_edits_standing", state="holding") is None
            server.start()
            await wait_until(lambda: sample("errata_edits_standing", state="holding") == 1)
            assert sample("errata_memory_slots", memory="toy/table", slots="used") == 1


async def test_a_ledger_that_lost_its_data_is_not_written_on(
    editor: Editor, own_valkey: EmbeddedValkey
) -> None:
    await change(editor, PERU, "Cusco")
    with redis.Redis.from_url(own_valkey.url) as client:
        client.flushall()
    refused = await change(editor, FRANCE, "Lyon")
    assert (refused["status"], refused["code"]) == (503, "ledger_corrupt")


async def test_a_ledger_replaced_by_another_is_not_written_on(
    editor: Editor, own_valkey: EmbeddedValkey, tmp_path: Path
) -> None:
    await change(editor, PERU, "Cusco")
    with redis.Redis.from_url(own_valkey.url) as client:
        client.flushall()
    async with start_deployment(Editor, settings(own_valkey.url, tmp_path)) as other:
        await change(other, PERU, "Puno")
        assert (await change(editor, FRANCE, "Lyon"))["code"] == "ledger_corrupt"
        await change(other, PERU, "Tacna")
    assert (await change(editor, FRANCE, "Lyon"))["code"] == "ledger_corrupt"


async def test_rows_that_were_altered_are_named(
    editor: Editor, own_valkey: EmbeddedValkey, tmp_path: Path
) -> None:
    await change(editor, PERU, "Cusco")
    with redis.Redis.from_url(own_valkey.url) as client:
        [key] = client.keys("{errata}:block:*")
        client.set(key, b"nonsense")
    async with start_deployment(Editor, settings(own_valkey.url, tmp_path)) as fresh:
        problem = body_of(await fresh.call(ListVersions(5)))
    assert (problem["status"], problem["code"]) == (503, "ledger_corrupt")
    assert key.decode().rpartition(":")[2] in problem["detail"]


async def test_a_full_server_refuses_edits_in_words_and_goes_on_when_it_has_room(
    editor: Editor, own_valkey: EmbeddedValkey
) -> None:
    await change(editor, PERU, "Cusco")
    with redis.Redis.from_url(own_valkey.url) as server:
        server.config_set("maxmemory", "1mb")
        refused = await change(editor, FRANCE, "Lyon")
        assert (refused["status"], refused["code"]) == (503, "ledger_unavailable")
        assert "maxmemory" in refused["detail"]
        assert await head(editor) == 1
        server.config_set("maxmemory", "0")
    assert (await change(editor, FRANCE, "Lyon"))["version"] == 2
