"""Replicas of two models read one ledger: what they say, and at which version, always agrees."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from service.config import Settings
from service.editing.deployment import Editor
from service.ledger.embedded.server import EmbeddedValkey
from service.ledger.store import RedisLedger
from service.replicas.replica import Replica
from tests.service.editing.requests import revert
from tests.service.graph.requests import CAPITAL, TABLE, checksums, fact, import_file, tsv
from tests.service.parts import ask, settings, started
from tests.service.toy_graph import TOYS


@pytest.fixture
def chosen(valkey: EmbeddedValkey, ledger: RedisLedger, tmp_path: Path) -> Settings:
    return settings(valkey.url, tmp_path, systems=TOYS, history=2, max_batch=8)


@pytest.fixture
async def replicas(chosen: Settings) -> AsyncIterator[dict[str, Replica]]:
    async with started(Replica, chosen, "toy") as toy, started(Replica, chosen, "atlas") as atlas:
        yield {"toy": toy, "atlas": atlas}


@pytest.fixture
async def editor(chosen: Settings, replicas: dict[str, Replica]) -> AsyncIterator[Editor]:
    async with started(Editor, chosen) as editor:
        yield editor


async def hammer(replica: Replica, heard: set[tuple[Any, ...]], ended: asyncio.Event) -> None:
    while not ended.is_set():
        for said in await asyncio.gather(*(ask(replica, CAPITAL) for _ in range(8))):
            heard.add((said["version"], said["answer"], tuple(said["edits"])))
        await asyncio.sleep(0)


async def test_no_read_is_torn_within_a_memory_or_between_them(
    editor: Editor, replicas: dict[str, Replica]
) -> None:
    """Facts, files and reverts come and go under load: version, answer and edits are those of one commit."""
    heard: dict[str, set[tuple[Any, ...]]] = {name: set() for name in replicas}
    ended = asyncio.Event()
    hammers = [asyncio.create_task(hammer(replicas[name], heard[name], ended)) for name in replicas]
    content: dict[str, list[Any]] = {"toy": ["Lima"], "atlas": ["Lima"]}
    for number in range(12):
        made = await fact(editor, "Peru", "capital", f"City {number}", wait="all")
        assert made["all_applied"]
        file = tsv(("Peru", "capital", f"Town {number}"), ("Oz", "capital", f"Town {number}"))
        assert (await import_file(editor, file, wait="all"))["version"] == made["version"] + 1
        assert (await revert(editor, made["version"] + 1, wait="all"))["all_applied"]
        content["toy"] += [f"City {number}"] * 3
        content["atlas"] += [f"City {number}", f"Town {number}", f"City {number}"]
    ended.set()
    await asyncio.gather(*hammers)
    for name, told in heard.items():
        assert len({version for version, _, _ in told}) > 6, "versions have to come and go"
        assert {(version, answer) for version, answer, _ in told} <= set(enumerate(content[name]))
        assert len({version for version, _, _ in told}) == len(told), (
            "a version has one answer, with its edits"
        )


async def test_after_its_receipt_nobody_hears_an_older_answer(
    editor: Editor, replicas: dict[str, Replica]
) -> None:
    for number in range(8):
        receipt = await fact(editor, "Peru", "capital", f"City {number}", wait="all")
        heard = [await ask(replica, CAPITAL) for replica in replicas.values()]
        assert [(one["answer"], one["version"]) for one in heard] == [
            (f"City {number}", receipt["version"])
        ] * 2


async def test_each_replica_says_the_checksum_of_its_own_memory(
    editor: Editor, replicas: dict[str, Replica], chosen: Settings
) -> None:
    await fact(editor, "Peru", "capital", "Cusco")
    await import_file(editor, tsv(("Oz", "capital", "Emerald City")))
    await revert(editor, 1)
    known = await checksums(editor)
    async with started(Replica, chosen, "atlas") as late:
        for replica in (*replicas.values(), late):
            await ask(replica, CAPITAL, min_version=3)
            own = (await replica.state())["checksums"]
            assert own.items() <= known.items()
    assert set((await replicas["toy"].state())["checksums"]) == {TABLE}


async def test_versions_mix_in_one_batch_and_each_is_answered_as_it_was(
    editor: Editor, replicas: dict[str, Replica]
) -> None:
    wanted: list[str | None] = [None]
    for number in range(6):
        await import_file(editor, tsv(("Oz", "capital", f"Town {number}")), wait="all")
        wanted.append(f"Town {number}")
    asked = [n % 7 for n in range(28)]
    said = await asyncio.gather(*(ask(replicas["atlas"], "capital of Oz", version=n) for n in asked))
    assert [(one["answer"], one["version"]) for one in said] == [(wanted[n], n) for n in asked]


async def test_a_batch_reads_rows_once_and_a_second_one_none(
    editor: Editor, replicas: dict[str, Replica]
) -> None:
    await import_file(editor, tsv(*((f"Town {n}", "capital", f"House {n}") for n in range(300))), wait="all")
    atlas = replicas["atlas"]
    rows = atlas._lookup._rows  # type: ignore[union-attr]
    reading, reads = rows._read, []

    async def counted(names: list[str]) -> list[bytes | None]:
        reads.append(len(names))
        return await reading(names)

    rows._read = counted  # type: ignore[method-assign]
    for _ in range(2):
        await asyncio.gather(*(ask(atlas, f"capital of Town {n}") for n in range(8)))
    assert 1 <= len(reads) <= 2, "one command for a whole batch, and none when it is asked again"
