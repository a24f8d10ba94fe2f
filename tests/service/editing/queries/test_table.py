"""What edits and imports brought comes out as a table, and goes in again without a change."""

from collections.abc import AsyncIterator
from pathlib import PurePath
from typing import Any

import pytest
from errata.tables.writer import SUFFIXES, format_table
from errata.wire import TableQuery

from service.editing.editor import Editor
from service.editing.operations import ListRelations, MakeTable
from tests.service.editing.conftest import StartEditor
from tests.service.editing.requests import head
from tests.service.graph.requests import checksums, define, fact, import_file, tsv, values
from tests.service.parts import body_of
from tests.service.toy_graph import TOYS
from tests.workbooks import workbook

SHEET = [
    ["Museum", "Director", "Opening hours", "Phone", "Guides"],
    ["Tide Mill", "Ida Brook", "10:00 to 17:00", "007", "Ann\nBo\nCy"],
    ["Rope Walk", "=1+1", None, "555, 02", "Bo"],
    ['The "Oak"', "Ida Brook", "closed; on Monday", None, None],
]


@pytest.fixture
async def editor(start_editor: StartEditor) -> AsyncIterator[Editor]:
    """Import a sheet, correct a value of it by hand, and add a fact and a thing."""
    async with start_editor(systems=TOYS) as editor:
        content = format_table(".xlsx", SHEET[0], [[cell or "" for cell in row] for row in SHEET[1:]])
        assert (await import_file(editor, content, subject="museum"))["counts"]["triples"] == 11
        await fact(editor, "Tide Mill", "director", "Noor Halim", act="set")
        await fact(editor, "Rope Walk", "founded", "1911")
        await fact(editor, "Ferry House", "kind", "museum")
        yield editor


async def table_of(editor: Editor, **query: Any) -> dict[str, Any]:
    return body_of(await editor.call(MakeTable(TableQuery.model_validate(query))))


async def test_a_row_is_a_thing_and_a_column_a_relation(editor: Editor) -> None:
    table = await table_of(editor, subject="Museum")
    assert table["columns"] == ["Museum", "Guides", "Director", "Phone", "Opening hours", "kind", "founded"]
    assert table["rows"] == [
        ["Ferry House", "", "", "", "", "museum", ""],
        ["Rope Walk", "Bo", "=1+1", "555, 02", "", "", "1911"],
        ['The "Oak"', "", "Ida Brook", "", "closed; on Monday", "", ""],
        ["Tide Mill", "Ann\nBo\nCy", "Noor Halim", "007", "10:00 to 17:00", "", ""],
    ]
    assert [row[0] for row in (await table_of(editor, where=["founded=1911"]))["rows"]] == ["Rope Walk"]
    directors = [row[2] for row in (await table_of(editor, version=1))["rows"]]
    assert sorted(directors) == ["=1+1", "Ida Brook", "Ida Brook"]
    assert (await table_of(editor, where=["founded"]))["code"] == "invalid_input"


@pytest.mark.parametrize("suffix", SUFFIXES)
async def test_the_table_goes_in_again_without_a_change(editor: Editor, suffix: str) -> None:
    before, table = await checksums(editor), await table_of(editor, subject="Museum")
    content = format_table(PurePath(f"x{suffix}").suffix, table["columns"], table["rows"])
    again = await import_file(editor, content, subject="Museum", strict=True)
    assert (again["code"], await checksums(editor)) == ("nothing_to_do", before), again
    assert "the graph says all 13 triples" in again["detail"]


async def test_a_changed_line_of_a_cell_is_the_only_change(editor: Editor) -> None:
    table = await table_of(editor, subject="Museum")
    rows = [[cell.replace("Bo\nCy", "Dee\nCy") for cell in row] for row in table["rows"]]
    receipt = await import_file(editor, format_table(".xlsx", table["columns"], rows), subject="Museum")
    assert (receipt["status"], receipt["counts"]["n_replaced"], receipt["counts"]["n_by_hand"]) == (201, 1, 0)
    assert await values(editor, "n:tide_mill", "Guides") == ["Ann", "Dee", "Cy"]


async def test_lines_are_one_text_where_the_relation_holds_one(editor: Editor) -> None:
    await define(editor, "address", holds="one")
    await import_file(
        editor, workbook([["M", "Address"], ["Tide Mill", "Mill Lane 1\nNorwick"]]), subject="M"
    )
    assert await values(editor, "n:tide_mill", "address") == ["Mill Lane 1 Norwick"]


async def test_a_heading_is_the_relation_of_that_name_or_the_one_that_the_order_says(editor: Editor) -> None:
    content = workbook([["Museum", "FOUNDED", "Chef", "Notes"], ["Tide Mill", 1850, "Bo Lund", "x"]])
    receipt = await import_file(editor, content, subject="Museum", column=["Chef=director", "Notes="])
    assert await values(editor, "n:tide_mill", "founded") == ["1850"]
    assert await values(editor, "n:tide_mill", "Director") == ["Bo Lund"]
    assert (receipt["counts"]["triples"], receipt["counts"]["n_by_hand"]) == (2, 1)
    refused = await import_file(editor, content, subject="Museum", column=["Chief=director"])
    assert "no column is called 'Chief'" in refused["detail"]


async def test_a_new_relation_is_told_of_once_with_what_to_do(editor: Editor) -> None:
    receipt = await import_file(editor, workbook([["M", "Leitung"], ["Oak", "A"], ["Elm", "B"]]), subject="M")
    warnings = [w for edit in receipt["report"]["edits"] for w in edit["warnings"] if "Leitung" in w]
    assert len(warnings) == 1
    assert "`column`" in warnings[0]
    await import_file(editor, tsv(("Oak", "seats", "3")))
    relations = body_of(await editor.call(ListRelations()))["relations"]
    assert {"Leitung", "seats", "Director", "founded"} <= {relation["relation"] for relation in relations}
    misspelt = await fact(editor, "Oak", "Leitun", "C")
    assert misspelt["code"] == "similar_name"


async def test_things_of_one_name_are_left_out_and_named(editor: Editor) -> None:
    data = "subject,subject_id,relation,object\nTwin,t:1,kind,a\nTwin,t:2,kind,b\n"
    await import_file(editor, data.encode())
    table = await table_of(editor)
    assert table["left_out"] == ["several things are called 'Twin': their rows are left out"]
    assert "Twin" not in [row[0] for row in table["rows"]]
    assert await head(editor) == table["version"]
