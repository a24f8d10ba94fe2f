"""An entity of very many facts, an entity in very many facts, and facts of the greatest length."""

from __future__ import annotations

import random
import time
import tracemalloc
from collections.abc import AsyncIterator, Iterator

import pytest

from service.editing.editor import Editor
from tests.service.editing.conftest import StartEditor
from tests.service.editing.requests import revert
from tests.service.graph.requests import answers, entity, fact, import_file, search, tsv
from tests.service.toy_graph import TOYS

N_FACTS = 100_000
MEMORY, SECONDS = 250e6, 60.0  # generous, because it should only catch runaway growth


@pytest.fixture
async def editor(start_editor: StartEditor) -> AsyncIterator[Editor]:
    async with start_editor(systems=TOYS) as editor:
        yield editor


def file(kind: str) -> Iterator[bytes]:
    for start in range(0, N_FACTS, 10_000):
        numbers = range(start, start + 10_000)
        if kind == "subject":
            yield tsv(*(("Hub", "links", f"page {n}") for n in numbers))
        else:
            yield tsv(*((f"Page {n}", "capital", "Hub") for n in numbers))


@pytest.mark.parametrize("kind", ["subject", "object"])
async def test_a_hub_is_imported_asked_edited_and_taken_back(editor: Editor, kind: str) -> None:
    started_at = time.perf_counter()
    receipt = await import_file(editor, file(kind))
    assert (receipt["status"], receipt["counts"]["triples"]) == (201, N_FACTS)
    if kind == "subject":
        hub = await entity(editor, "n:hub")
        assert (hub["degree"], len(hub["facts"]) + hub["facts_left_out"]) == (N_FACTS, N_FACTS)
        assert (await fact(editor, "Hub", "links", f"page {N_FACTS - 1}", act="remove"))["status"] == 201
        replies = await answers(editor, "Where links Hub?")
        assert replies[0] is not None
    else:
        assert await answers(editor, "capital of Page 99999", "capital of Hub") == ["Hub", None]
        assert (await fact(editor, "Hub", "capital", "Page 7"))["status"] == 201
        assert len(await search(editor, "Page 9999", limit=20)) == 11
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
