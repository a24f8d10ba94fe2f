"""An import whose service crashes, and one that is too large."""

import asyncio
import multiprocessing
import os
import random
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import redis
from errata.wire import ImportOrder

from service.editing.editor import Editor
from service.editing.operations import AbandonImport, BeginImport
from service.ledger.embedded.server import EmbeddedValkey
from tests.service.editing.requests import head, revert
from tests.service.graph.requests import (
    answers,
    checksums,
    entity,
    fact,
    import_file,
    import_notes,
    rows,
    search,
    tsv,
)
from tests.service.parts import body_of, settings, start_deployment
from tests.service.toy_graph import TOYS

OPTIONS = {"systems": TOYS}

N_TOWNS, N_ROWS = 2_000, 65  # rows of the store that the import of the towns writes
TOWNS = tsv(*((f"Town {n}", "capital", f"House {n}") for n in range(N_TOWNS)))


def run_import(url: str, var: Path) -> None:
    async def run() -> int:
        async with start_deployment(Editor, settings(url, var, systems=TOYS)) as editor:
            return int((await import_file(editor, TOWNS))["status"])

    os._exit(0 if asyncio.run(run()) == 201 else 1)


def import_and_kill(url: str, var: Path, vandal: redis.Redis, fraction: float) -> tuple[int, bool]:
    """Kill an import when about this fraction of its rows is stored.

    Returns:
        How many rows it had stored, and whether it had finished.
    """
    # A fork of this process, whose modules are loaded
    importer = multiprocessing.get_context("fork").Process(target=run_import, args=(url, var))
    importer.start()
    deadline = time.monotonic() + 60
    while importer.is_alive() and time.monotonic() < deadline and vandal.dbsize() < fraction * N_ROWS:
        time.sleep(0.001)
    importer.kill()
    importer.join()
    return len(rows(vandal)), importer.exitcode == 0


async def test_killed_at_any_moment_it_leaves_no_row_behind(
    own_valkey: EmbeddedValkey, tmp_path: Path, vandal: redis.Redis
) -> None:
    chance, row_counts = random.Random(7), []
    for fraction in (chance.random(), 1.0):
        vandal.flushall()
        n_rows, finished = import_and_kill(own_valkey.url, tmp_path, vandal, fraction)
        row_counts.append(n_rows)
        async with start_deployment(Editor, settings(own_valkey.url, tmp_path, systems=TOYS)) as editor:
            version = await head(editor)
            assert version in (0, 1)
            assert version == 1 or not finished
            if version == 0:
                base = await checksums(editor)
                session = body_of(await editor.call(BeginImport(ImportOrder.model_validate({}), "ana")))["id"]
                await editor.call(AbandonImport(session))
                assert (rows(vandal), import_notes(vandal), await checksums(editor)) == (set(), {}, base)
                assert (await import_file(editor, TOWNS))["version"] == 1
            assert await answers(editor, f"capital of Town {N_TOWNS - 1}?") == [f"House {N_TOWNS - 1}"]
            assert import_notes(vandal) == {} or version == 1
    assert max(row_counts) > 0, "it has to be killed while rows are there"


N_FACTS = 50_000  # of each of two hubs
MEMORY, SECONDS = 250e6, 60.0  # generous, because it should only catch runaway growth


def file() -> Iterator[bytes]:
    """Yield the facts of a hub that is their subject, and of another that is their object."""
    for start in range(0, N_FACTS, 10_000):
        numbers = range(start, start + 10_000)
        yield tsv(*(("Index", "links", f"page {n}") for n in numbers))
        yield tsv(*((f"Page {n}", "capital", "Hub") for n in numbers))


async def test_a_hub_is_imported_asked_edited_and_taken_back(editor: Editor) -> None:
    started_at = time.perf_counter()
    receipt = await import_file(editor, file())
    assert (receipt["status"], receipt["counts"]["triples"]) == (201, 2 * N_FACTS)
    index = await entity(editor, "n:index")
    assert (index["degree"], len(index["facts"]) + index["facts_left_out"]) == (N_FACTS, N_FACTS)
    assert (await fact(editor, "Index", "links", f"page {N_FACTS - 1}", act="remove"))["status"] == 201
    replies = await answers(editor, "Where links Index?", "capital of Page 49999", "capital of Hub")
    assert replies[0] is not None
    assert replies[1:] == ["Hub", None]
    assert (await fact(editor, "Hub", "capital", "Page 7"))["status"] == 201
    assert len(await search(editor, "Page 4999", limit=20)) == 11
    assert (await revert(editor, 1))["status"] == 201
    assert time.perf_counter() - started_at < SECONDS


async def test_facts_as_long_as_they_may_be_are_stored_without_holding_the_file_in_memory(
    editor: Editor,
) -> None:
    """They are forty megabytes of one entity that no packing makes small, more than Redis takes at once."""
    chance = random.Random(7)

    def parts() -> Iterator[bytes]:
        for _ in range(20):
            yield tsv(*(("Hub", "links", chance.randbytes(995).hex()) for _ in range(1_000)))

    tracemalloc.start()
    try:
        receipt = await import_file(editor, parts())
        assert tracemalloc.get_traced_memory()[1] < MEMORY
    finally:
        tracemalloc.stop()
    assert (receipt["status"], receipt.get("counts", {}).get("triples")) == (201, 20_000), receipt
    assert (await entity(editor, "n:hub"))["degree"] == 20_000
