"""Damaged, missing or unreachable rows of an import affect questions that need them, and nothing else."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import redis

from service.editing.editor import Editor
from service.editing.operations import RunChecks
from service.graph import layout, lookup, redis_keys
from service.ledger.embedded.server import EmbeddedValkey
from service.replicas.replica import Replica
from tests.service.editing.conftest import StartEditor
from tests.service.editing.requests import head, revert
from tests.service.graph.requests import (
    CAPITAL,
    answers,
    checksums,
    entity,
    fact,
    import_file,
    rows,
    search,
    tsv,
)
from tests.service.parts import PATIENCE_S, ask, body_of, settings, start_deployment
from tests.service.toy_graph import TOYS

TOWNS = [f"Town {n}" for n in range(400)]
FILE = tsv(*((town, "capital", f"House of {town}") for town in TOWNS))
BROKEN, SOUND = "capital of Town 7?", "capital of Town 8?"


@pytest.fixture
def config(own_valkey: EmbeddedValkey, tmp_path: Path) -> Any:
    return settings(own_valkey.url, tmp_path, systems=TOYS)


@pytest.fixture
async def editor(config: Any) -> AsyncIterator[Editor]:
    async with start_deployment(Editor, config) as editor:
        assert (await import_file(editor, FILE))["status"] == 201
        yield editor


def key_of(vandal: redis.Redis, id: str) -> str:
    sources = {key.split(b":")[2].decode() for key in rows(vandal) if b":graph:" in key}
    [source] = sources
    count = len([key for key in rows(vandal) if b":graph:" in key])
    return redis_keys.bucket(source, layout.bucket_of(id, count))


def flip(vandal: redis.Redis, key: str) -> None:
    data = bytearray(vandal.get(key))  # type: ignore[arg-type]
    data[len(data) // 2] ^= 1
    vandal.set(key, bytes(data))


def swap(vandal: redis.Redis, key: str) -> None:
    other = next(name for name in sorted(rows(vandal)) if b":graph:" in name and name != key.encode())
    vandal.set(key, vandal.get(other))  # type: ignore[arg-type]


def cut(vandal: redis.Redis, key: str) -> None:
    vandal.set(key, vandal.get(key)[:20])  # type: ignore[index]


def empty(vandal: redis.Redis, key: str) -> None:
    vandal.set(key, b"")


def delete(vandal: redis.Redis, key: str) -> None:
    vandal.delete(key)


@pytest.mark.parametrize("damage", [flip, swap, cut, empty, delete])
async def test_only_questions_that_need_what_is_damaged_fail(
    editor: Editor, config: Any, vandal: redis.Redis, damage: Any
) -> None:
    key = key_of(vandal, "n:town_7")
    damage(vandal, key)
    far = next(t for t in TOWNS if key_of(vandal, "n:" + t.lower().replace(" ", "_")) != key)
    requests = [
        {"question": q} for q in (BROKEN, CAPITAL, f"capital of {far}?", "capital of nobody?", BROKEN)
    ]
    async with start_deployment(Replica, config, "atlas") as replica:
        for _ in range(2):
            replies = [body_of(outcome) for outcome in await replica.answer_many(requests)]
            assert [reply["status"] for reply in replies] == [503, 200, 200, 200, 503]
            assert (replies[0]["code"], replies[0]["row"]) == ("ledger_corrupt", key)
            assert [reply["answer"] for reply in replies[1:4]] == ["Lima", f"House of {far}", None]
        assert (await ask(replica, BROKEN, kg="none"))["reason"] == "no_graph"
        assert (await ask(replica, BROKEN, version=0))["reason"] == "no_entity"
        assert (await fact(editor, "Peru", "capital", "Cusco", only="graph"))["status"] == 201
        assert (await ask(replica, CAPITAL, min_version=2))["answer"] == "Cusco"
        assert (await revert(editor, 1))["status"] == 201, "what the advice says can be done"
        assert (await ask(replica, BROKEN, min_version=3))["reason"] == "no_entity"


async def test_a_damaged_row_refuses_edits_and_lookups_of_its_entity(
    config: Any, editor: Editor, vandal: redis.Redis
) -> None:
    flip(vandal, key_of(vandal, "n:town_7"))
    async with start_deployment(Editor, config) as fresh:
        assert (await entity(fresh, "n:town_7"))["code"] == "ledger_corrupt"
        assert (await fact(fresh, "Town 7", "capital", "Tent"))["code"] == "ledger_corrupt"
        assert (await head(fresh), (await entity(fresh, "Q419"))["label"]) == (1, "Peru")
        assert (await revert(fresh, 1))["status"] == 201


async def test_an_import_that_was_taken_back_is_not_needed_to_look_anything_up(
    config: Any, editor: Editor, vandal: redis.Redis
) -> None:
    """Only the facts that it once added are not listed."""
    await fact(editor, "Town 7", "motto", "Seven")
    await revert(editor, 1)
    vandal.delete(*rows(vandal))
    async with start_deployment(Editor, config) as fresh:
        for id, label in (("Q419", "Peru"), ("n:town_7", "n:town_7")):
            state = await entity(fresh, id)
            assert (state["status"], state.get("label")) == (200, label)
        assert (await fact(fresh, "Peru", "capital", "Cusco", only="graph"))["status"] == 201
        assert (await entity(fresh, "Q419"))["facts"][0]["added_in"] == 4
        assert await search(fresh, "Peru") == ["Q419"]


async def test_names_that_somebody_put_right_are_found_without_a_restart(
    config: Any, editor: Editor, vandal: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lookup, "LOOK_AGAIN_S", 0.05)
    backup = {key.decode(): vandal.get(key) for key in rows(vandal)}
    [names] = [key for key in backup if ":names:" in key]
    delete(vandal, names)
    delete(vandal, key_of(vandal, "n:town_7"))
    async with (
        start_deployment(Replica, config, "atlas") as replica,
        start_deployment(Editor, config) as fresh,
    ):
        assert (await ask(replica, CAPITAL))["degraded"] == "ledger_corrupt"
        for key, data in backup.items():
            vandal.set(key, data)  # type: ignore[arg-type]
        async with asyncio.timeout(PATIENCE_S):
            while (await ask(replica, BROKEN))["degraded"] or not await search(fresh, "Town 7"):  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        assert (await ask(replica, BROKEN))["answer"] == "House of Town 7"


@pytest.mark.parametrize("damage", [flip, delete])
async def test_names_that_are_damaged_are_told_of_and_their_import_can_be_taken_back(
    config: Any, editor: Editor, vandal: redis.Redis, damage: Any
) -> None:
    [names] = [key for key in rows(vandal) if b":names:" in key]
    damage(vandal, names.decode())
    async with (
        start_deployment(Replica, config, "atlas") as replica,
        start_deployment(Editor, config) as fresh,
    ):
        assert (await ask(replica, CAPITAL))["degraded"] == "ledger_corrupt"
        assert await search(fresh, "Town 39", limit=100) == []
        assert (await import_file(fresh, FILE, dry_run=True))["status"] == 200
        assert (await revert(fresh, 1))["status"] == 201
        assert (await ask(replica, SOUND, min_version=2))["reason"] == "no_entity"


async def test_with_redis_away_what_is_at_hand_is_answered_and_no_batch_is_lost(
    config: Any, editor: Editor, own_valkey: EmbeddedValkey
) -> None:
    async with start_deployment(Replica, config, "atlas") as replica:
        assert (await ask(replica, SOUND))["answer"] == "House of Town 8"
        assert (await ask(replica, CAPITAL))["answer"] == "Lima"
        own_valkey.stop()
        far = "capital of Town 399?"
        requests = [{"question": q} for q in (SOUND, far, CAPITAL, "Who?", far, SOUND)]
        for _ in range(3):
            replies = [body_of(outcome) for outcome in await replica.answer_many(requests)]
            assert [reply["status"] for reply in replies] == [200, 503, 200, 200, 503, 200]
            assert (replies[0]["answer"], replies[2]["answer"]) == ("House of Town 8", "Lima")
            assert replies[1]["code"] == "ledger_unavailable"
        refused = await import_file(editor, FILE)
        assert (refused["status"], refused["code"]) == (503, "ledger_unavailable")
        own_valkey.start()
        async with asyncio.timeout(PATIENCE_S):
            while (again := await ask(replica, far))["status"] != 200:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        assert again["answer"] == "House of Town 399"
        await revert(editor, 1)
        assert (await import_file(editor, FILE))["version"] == 3


async def test_a_server_that_is_away_while_rows_are_written_is_swept_by_the_next_import(
    config: Any, own_valkey: EmbeddedValkey, vandal: redis.Redis
) -> None:
    async with start_deployment(Editor, config) as editor:
        before, storing = await checksums(editor), editor.importer._store.store

        async def stop_server(pieces: Any) -> None:
            await storing(pieces)
            if pieces:
                own_valkey.stop()

        editor.importer._store.store = stop_server  # type: ignore[method-assign]
        assert (await import_file(editor, FILE))["code"] == "ledger_unavailable"
        own_valkey.start()
        editor.importer._store.store = storing  # type: ignore[method-assign]
        assert rows(vandal) != set()
        assert (await import_file(editor, b"Oz\tcapital\tEmerald City\n"))["version"] == 1
        assert len({key.split(b":")[2] for key in rows(vandal)}) == 1, "only what was committed"
        assert await answers(editor, "capital of Oz", SOUND) == ["Emerald City", None]
        await revert(editor, 1)
        assert await checksums(editor) == before


async def test_the_check_names_every_row_that_is_altered_or_missing(
    start_editor: StartEditor, raw: redis.Redis
) -> None:
    hub = [("Oz", "motto", f"word {number}") for number in range(2_000)]  # more than one bucket holds
    async with start_editor(systems=TOYS) as editor:
        await import_file(editor, tsv(*hub, ("Ev", "capital", "Evna")))
        assert body_of(await editor.call(RunChecks()))["damaged_imports"] == []
        for key in sorted(name for name in rows(raw) if b":graph:" in name):
            sound = raw.get(key)
            assert isinstance(sound, bytes)
            for data in (b"", sound[:-1] + bytes([sound[-1] ^ 1])):
                raw.set(key, data)
                assert len(body_of(await editor.call(RunChecks()))["damaged_imports"]) == 1, key
            raw.set(key, sound)
        assert body_of(await editor.call(RunChecks()))["damaged_imports"] == []
