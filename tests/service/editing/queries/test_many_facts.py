"""A thing of which the graph says more than a question reads keeps every fact of it in exports, diffs and imports."""

import time
from typing import Any

import pytest
import redis
from errata.tables.writer import format_table
from errata.wire import TableQuery

from service.editing.editor import Editor
from service.editing.operations import ListActiveEdits, MakeTable
from service.graph.layout import MAX_STATEMENTS
from tests.service.editing.conftest import StartEditor
from tests.service.editing.requests import diff, edits, revert
from tests.service.graph.requests import entity, fact, import_file, search, tsv, values
from tests.service.parts import body_of
from tests.service.toy_graph import TOYS

N_FACTS = 700
RELATIONS = ("ally", "guide", "district", "street", "guest", "ship", "twin town")


def file_of(n_facts: int) -> bytes:
    return tsv(*(("Zell", RELATIONS[n % len(RELATIONS)], f"Value {n}") for n in range(n_facts)))


async def export(editor: Editor) -> bytes:
    table = body_of(await editor.call(MakeTable(TableQuery(subject="Name"))))
    assert table["left_out"] == []
    return format_table(".csv", table["columns"], table["rows"])


async def list_items(editor: Editor) -> list[dict[str, Any]]:
    return [edit["edit"] for edit in body_of(await editor.call(ListActiveEdits()))["edits"]]


@pytest.mark.parametrize("n_facts", [N_FACTS, 5_000])
async def test_every_fact_of_one_thing_is_exported_and_goes_into_an_empty_ledger(
    start_editor: StartEditor, raw: redis.Redis, n_facts: int
) -> None:
    assert n_facts > MAX_STATEMENTS
    start = time.perf_counter()
    async with start_editor(systems=TOYS) as editor:
        assert (await import_file(editor, file_of(n_facts)))["counts"]["triples"] == n_facts
        first = await export(editor)
    assert all(f"Value {n}" in first.decode().replace('"', "\n").splitlines() for n in (0, n_facts - 1))
    assert first.count(b"Value ") == n_facts
    raw.flushall()
    async with start_editor(systems=TOYS) as editor:
        assert (await import_file(editor, first, subject="Name"))["counts"]["triples"] == n_facts
        assert await export(editor) == first
    assert time.perf_counter() - start < 60


async def test_every_fact_of_one_thing_is_listed_and_sent_again(
    start_editor: StartEditor, raw: redis.Redis
) -> None:
    async with start_editor(systems=TOYS) as editor:
        await import_file(editor, file_of(N_FACTS))
        first = await list_items(editor)
    assert len(first) == N_FACTS
    raw.flushall()
    async with start_editor(systems=TOYS) as editor:
        assert (await edits(editor, *first))["version"] == 1
        assert await list_items(editor) == first


@pytest.fixture
async def editor(start_editor: StartEditor) -> Any:
    async with start_editor(systems=TOYS) as editor:
        await import_file(editor, file_of(N_FACTS))
        yield editor


async def test_a_file_of_many_facts_that_is_sent_again_changes_nothing(editor: Editor) -> None:
    assert (await import_file(editor, file_of(N_FACTS)))["code"] == "nothing_to_do"


async def test_a_fact_among_many_that_is_taken_away_is_in_diff_and_receipt(editor: Editor) -> None:
    last = f"Value {N_FACTS - 1}"
    relation = RELATIONS[(N_FACTS - 1) % len(RELATIONS)]
    await fact(editor, "Zell", relation, last, act="remove")
    changes = [(change.object, change.change) for change in (await diff(editor, 1, 2)).facts]
    assert changes == [(last, "removed")]
    report = (await revert(editor, 2))["report"]["edits"][0]
    assert last not in (report["before"] or "")
    assert last in await values(editor, "n:zell", relation)


async def test_a_name_behind_very_many_others_is_found(editor: Editor) -> None:
    await import_file(editor, tsv(*(("Yb", "alias", f"Alias number {n}") for n in range(N_FACTS))))
    await fact(editor, f"Alias number {N_FACTS - 1}", "ally", "Ulm")
    assert await values(editor, "n:yb", "ally") == ["Ulm"]
    assert await search(editor, f"Alias number {N_FACTS - 1}") == ["n:yb"]
    assert (await entity(editor, f"n:alias_number_{N_FACTS - 1}"))["status"] == 404
