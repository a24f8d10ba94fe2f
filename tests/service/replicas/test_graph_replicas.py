"""Replicas of two models that read one ledger agree on answers and versions."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from service.config import Settings
from service.editing.editor import Editor
from service.graph import rows
from service.ledger.connection import Connection
from service.ledger.embedded.server import EmbeddedValkey
from service.ledger.store import RedisLedger
from service.replicas.replica import Replica
from tests.service.editing.requests import revert
from tests.service.graph.requests import CAPITAL, TABLE, checksums, fact, import_file, tsv
from tests.service.parts import ask, sample, settings, start_deployment
from tests.service.toy_graph import TOYS


@pytest.fixture
def config(valkey: EmbeddedValkey, ledger: RedisLedger, tmp_path: Path) -> Settings:
    return settings(valkey.url, tmp_path, systems=TOYS, history=2, max_batch=8)


@pytest.fixture
async def replicas(config: Settings) -> AsyncIterator[dict[str, Replica]]:
    async with (
        start_deployment(Replica, config, "toy") as toy,
        start_deployment(Replica, config, "atlas") as atlas,
    ):
        yield {"toy": toy, "atlas": atlas}


@pytest.fixture
async def editor(config: Settings, replicas: dict[str, Replica]) -> AsyncIterator[Editor]:
    async with start_deployment(Editor, config) as editor:
        yield editor


async def hammer(replica: Replica, replies: set[tuple[Any, ...]], stop: asyncio.Event) -> None:
    while not stop.is_set():
        for reply in await asyncio.gather(*(ask(replica, CAPITAL) for _ in range(8))):
            replies.add((reply["version"], reply["answer"], tuple(reply["edits"])))
        await asyncio.sleep(0)


async def test_no_read_is_torn_within_a_memory_or_between_them(
    editor: Editor, replicas: dict[str, Replica]
) -> None:
    """Facts, files and reverts come and go under load: version, answer and edits are those of one commit."""
    replies: dict[str, set[tuple[Any, ...]]] = {name: set() for name in replicas}
    stop = asyncio.Event()
    hammers = [asyncio.create_task(hammer(replicas[name], replies[name], stop)) for name in replicas]
    content: dict[str, list[Any]] = {"toy": ["Lima"], "atlas": ["Lima"]}
    for number in range(12):
        receipt = await fact(editor, "Peru", "capital", f"City {number}", wait="all")
        assert receipt["all_applied"]
        file = tsv(("Peru", "capital", f"Town {number}"), ("Oz", "capital", f"Town {number}"))
        assert (await import_file(editor, file, wait="all"))["version"] == receipt["version"] + 1
        assert (await revert(editor, receipt["version"] + 1, wait="all"))["all_applied"]
        content["toy"] += [f"City {number}"] * 3
        content["atlas"] += [f"City {number}", f"Town {number}", f"City {number}"]
    stop.set()
    await asyncio.gather(*hammers)
    for name, pairs in replies.items():
        assert len({version for version, _, _ in pairs}) > 6, "versions have to come and go"
        assert {(version, answer) for version, answer, _ in pairs} <= set(enumerate(content[name]))
        assert len({version for version, _, _ in pairs}) == len(pairs), (
            "a version has one answer, with its edits"
        )


async def test_after_its_receipt_no_replica_gives_an_older_answer(
    editor: Editor, replicas: dict[str, Replica]
) -> None:
    for number in range(8):
        receipt = await fact(editor, "Peru", "capital", f"City {number}", wait="all")
        replies = [await ask(replica, CAPITAL) for replica in replicas.values()]
        assert [(reply["answer"], reply["version"]) for reply in replies] == [
            (f"City {number}", receipt["version"])
        ] * 2


async def test_each_replica_says_the_checksum_of_its_own_memory(
    editor: Editor, replicas: dict[str, Replica], config: Settings
) -> None:
    await fact(editor, "Peru", "capital", "Cusco")
    await import_file(editor, tsv(("Oz", "capital", "Emerald City")))
    await revert(editor, 1)
    expected = await checksums(editor)
    async with start_deployment(Replica, config, "atlas") as late:
        for replica in (*replicas.values(), late):
            await ask(replica, CAPITAL, min_version=3)
            own_checksums = (await replica.state())["checksums"]
            assert own_checksums.items() <= expected.items()
    assert set((await replicas["toy"].state())["checksums"]) == {TABLE}


async def test_versions_mix_in_one_batch_and_each_is_answered_as_it_was(
    editor: Editor, replicas: dict[str, Replica]
) -> None:
    expected: list[str | None] = [None]
    for number in range(6):
        await import_file(editor, tsv(("Oz", "capital", f"Town {number}")), wait="all")
        expected.append(f"Town {number}")
    versions = [n % 7 for n in range(28)]
    replies = await asyncio.gather(*(ask(replicas["atlas"], "capital of Oz", version=n) for n in versions))
    assert [(reply["answer"], reply["version"]) for reply in replies] == [(expected[n], n) for n in versions]


async def test_a_batch_reads_rows_once_and_a_second_one_none(
    editor: Editor, replicas: dict[str, Replica], monkeypatch: pytest.MonkeyPatch
) -> None:
    await import_file(editor, tsv(*((f"Town {n}", "capital", f"House {n}") for n in range(300))), wait="all")
    atlas = replicas["atlas"]
    reading, reads = rows.read, []

    async def count_reads(connection: Connection, names: Sequence[str]) -> dict[str, bytes | None]:
        reads.append(len(names))
        return await reading(connection, names)

    monkeypatch.setattr(rows, "read", count_reads)
    before = count_rows()
    for _ in range(2):
        await asyncio.gather(*(ask(atlas, f"capital of Town {n}") for n in range(8)))
    assert {cache: after - before[cache] for cache, after in count_rows().items()} == {"hit": 8, "miss": 8}
    assert 1 <= len(reads) <= 2, "one command for a whole batch, and none when it is asked again"


def count_rows() -> dict[str, float]:
    """Return the number of imported rows that questions needed, by the metrics."""
    name = "errata_graph_rows_total"
    return {cache: sample(name, model="atlas", cache=cache) or 0 for cache in ("hit", "miss")}
