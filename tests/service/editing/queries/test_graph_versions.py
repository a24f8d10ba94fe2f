"""The graph at any version, and its facts as a table."""

from collections.abc import AsyncIterator
from pathlib import PurePath
from typing import Any

import pytest
from errata.tables.writer import SUFFIXES, format_table
from errata.wire import MemoryState, TableQuery, VersionDetail, VersionLog

from service.editing.editor import Editor
from service.editing.operations import GetMemory, GetVersion, ListRelations, ListVersions, MakeTable
from tests.service.editing.conftest import StartEditor
from tests.service.editing.requests import change, check, diff, edits, head, revert, revert_edits, rollback
from tests.service.graph.requests import CAPITAL, checksums, define, fact, import_file, triple, tsv, values
from tests.service.parts import body_of
from tests.service.toy_graph import TOYS
from tests.workbooks import workbook

OPTIONS = {"systems": TOYS}


async def test_a_fact_without_a_question_is_checked_in_the_graph_and_files_are_no_tests(
    editor: Editor,
) -> None:
    await fact(editor, "Peru", "motto", "Firme")
    await define(editor, "motto", holds="one")
    await import_file(editor, tsv(("Oz", "capital", "Emerald City")))
    assert ((await check(editor)).total, (await check(editor)).holding) == (1, 1)
    memory = MemoryState.model_validate_json((await editor.call(GetMemory())).body)
    assert (memory.edits.active, memory.edits.superseded) == (3, 0)


async def test_a_name_that_is_taken_away_breaks_the_facts_that_are_asked_by_it(editor: Editor) -> None:
    await fact(editor, "Peru", "capital", "Cusco", only="graph")
    receipt = await fact(editor, "Peru", "label", "Piruw")
    assert receipt["report"]["broken_tests"] == [], "the old name stays an alias"
    receipt = await fact(editor, "Piruw", "alias", "Peru", act="remove")
    assert {test["question"] for test in receipt["report"]["broken_tests"]} == {CAPITAL, "Peru's capital?"}


async def test_a_value_that_is_added_to_an_earlier_one_breaks_nothing(editor: Editor) -> None:
    await fact(editor, "Chile", "shares_border_with", "Bolivia", only="graph")
    receipt = await fact(editor, "Chile", "shares_border_with", "Argentina", only="graph")
    assert receipt["report"]["broken_tests"] == []
    assert (await check(editor)).broken == []


async def test_a_diff_lists_facts_corrections_and_reverts(editor: Editor) -> None:
    await fact(editor, "Peru", "capital", "Cusco", only="graph")
    await change(editor, CAPITAL, "Puno")
    await revert(editor, 1)
    first, second, back = await diff(editor, 0, 1), await diff(editor, 0, 2), await diff(editor, 0, 3)
    assert {(change.question, change.before, change.after) for change in first.changes} == {
        (CAPITAL, "Lima", "Cusco"),
        ("Peru's capital?", "Lima", "Cusco"),
    }
    assert first.checksums_differ == {"graph/triples": True, "toy/table": False}
    assert second.checksums_differ == {"graph/triples": True, "toy/table": True}
    assert back.checksums_differ == {"graph/triples": False, "toy/table": True}
    assert {(change.before, change.after) for change in back.changes} == {("Lima", "Puno")}
    assert (await diff(editor, 2, 2)).changes == []


async def test_facts_without_a_question_are_listed_as_facts(editor: Editor) -> None:
    await edits(editor, triple("Peru", "motto", "Firme"), triple("Peru", "alias", "Birú"))
    await import_file(editor, tsv(("Oz", "capital", "Emerald City"), ("Oz", "motto", "Home")))
    await rollback(editor, 0)
    assert [fact.triples for fact in (await diff(editor, 0, 2)).facts] == [1, 1, 2]
    facts = [(fact.relation, fact.object, fact.act, fact.change) for fact in (await diff(editor, 0, 2)).facts]
    assert facts[0] == ("motto", "Firme", "add", "added")
    assert facts[1][1:] == ("Birú", "add", "added")
    assert facts[2][2:] == ("import", "added")
    assert [fact.change for fact in (await diff(editor, 2, 3)).facts] == ["removed"] * 3
    assert (await diff(editor, 0, 3)).facts == []


async def test_a_diff_says_of_each_value_whether_it_came_or_went(editor: Editor) -> None:
    await define(editor, "director", holds="one")
    await fact(editor, "Mill", "director", "Noor")
    await fact(editor, "Mill", "director", "Lea")
    await fact(editor, "Mill", "collections", "Maps")
    await fact(editor, "Mill", "collections", "Maps", act="remove")
    await revert(editor, 5)

    async def changes(older: int, newer: int) -> list[tuple[str, str]]:
        return [(fact.change, fact.object) for fact in (await diff(editor, older, newer)).facts]

    assert await changes(2, 3) == [("removed", "Noor"), ("added", "Lea")]
    assert await changes(3, 4) == [("added", "Maps")]
    assert await changes(4, 5) == [("removed", "Maps")]
    assert await changes(5, 6) == [("added", "Maps")]
    assert await changes(5, 4) == [("added", "Maps")]
    assert await changes(1, 5) == [("added", "Lea")]
    assert await changes(2, 6) == [("removed", "Noor"), ("added", "Lea"), ("added", "Maps")]


async def test_a_version_says_which_edits_were_replaced_and_a_revert_which_it_takes_back(
    editor: Editor,
) -> None:
    await define(editor, "director", holds="one")
    await fact(editor, "Mill", "director", "Noor")
    await fact(editor, "Mill", "director", "Lea")
    await fact(editor, "Mill", "collections", "Maps")
    await fact(editor, "Mill", "collections", "Maps", act="remove")
    await change(editor, CAPITAL, "Cusco")
    await change(editor, CAPITAL, "Puno")

    async def show(version: int) -> VersionDetail:
        return VersionDetail.model_validate_json((await editor.call(GetVersion(version))).body)

    assert [(await show(v)).edits[0].replaced_in for v in range(2, 8)] == [3, None, 5, None, 7, None]
    await revert_edits(editor, (await show(3)).edits[0].id)
    assert (await show(2)).edits[0].replaced_in is None
    [revert_of, change_of, *_] = VersionLog.model_validate_json(
        (await editor.call(ListVersions(2))).body
    ).versions
    assert (revert_of.target_versions, revert_of.first and revert_of.first.notes["object"]) == ([3], "Lea")
    assert change_of.first is not None
    assert (change_of.first.question, change_of.first.answer) == (CAPITAL, "Puno")


SHEET = [
    ["Museum", "Director", "Opening hours", "Phone", "Guides"],
    ["Tide Mill", "Ida Brook", "10:00 to 17:00", "007", "Ann\nBo\nCy"],
    ["Rope Walk", "=1+1", None, "555, 02", "Bo"],
    ['The "Oak"', "Ida Brook", "closed; on Monday", None, None],
]


@pytest.fixture
async def table_editor(start_editor: StartEditor) -> AsyncIterator[Editor]:
    """Import a sheet, correct a value of it by hand, and add a fact and a thing."""
    async with start_editor(systems=TOYS) as table_editor:
        content = format_table(".xlsx", SHEET[0], [[cell or "" for cell in row] for row in SHEET[1:]])
        assert (await import_file(table_editor, content, subject="museum"))["counts"]["triples"] == 11
        await fact(table_editor, "Tide Mill", "director", "Noor Halim", act="set")
        await fact(table_editor, "Rope Walk", "founded", "1911")
        await fact(table_editor, "Ferry House", "kind", "museum")
        yield table_editor


async def table_of(table_editor: Editor, **query: Any) -> dict[str, Any]:
    return body_of(await table_editor.call(MakeTable(TableQuery.model_validate(query))))


async def test_a_row_is_a_thing_and_a_column_a_relation(table_editor: Editor) -> None:
    table = await table_of(table_editor, subject="Museum")
    assert table["columns"] == ["Museum", "Guides", "Director", "Phone", "Opening hours", "kind", "founded"]
    assert table["rows"] == [
        ["Ferry House", "", "", "", "", "museum", ""],
        ["Rope Walk", "Bo", "=1+1", "555, 02", "", "", "1911"],
        ['The "Oak"', "", "Ida Brook", "", "closed; on Monday", "", ""],
        ["Tide Mill", "Ann\nBo\nCy", "Noor Halim", "007", "10:00 to 17:00", "", ""],
    ]
    assert [row[0] for row in (await table_of(table_editor, where=["founded=1911"]))["rows"]] == ["Rope Walk"]
    directors = [row[2] for row in (await table_of(table_editor, version=1))["rows"]]
    assert sorted(directors) == ["=1+1", "Ida Brook", "Ida Brook"]
    assert (await table_of(table_editor, where=["founded"]))["code"] == "invalid_input"


@pytest.mark.parametrize("suffix", SUFFIXES)
async def test_the_table_goes_in_again_without_a_change(table_editor: Editor, suffix: str) -> None:
    before, table = await checksums(table_editor), await table_of(table_editor, subject="Museum")
    content = format_table(PurePath(f"x{suffix}").suffix, table["columns"], table["rows"])
    again = await import_file(table_editor, content, subject="Museum", strict=True)
    assert (again["code"], await checksums(table_editor)) == ("nothing_to_do", before), again
    assert "the graph says all 13 triples" in again["detail"]


async def test_a_changed_line_of_a_cell_is_the_only_change(table_editor: Editor) -> None:
    table = await table_of(table_editor, subject="Museum")
    rows = [[cell.replace("Bo\nCy", "Dee\nCy") for cell in row] for row in table["rows"]]
    receipt = await import_file(table_editor, format_table(".xlsx", table["columns"], rows), subject="Museum")
    assert (receipt["status"], receipt["counts"]["n_replaced"], receipt["counts"]["n_by_hand"]) == (201, 1, 0)
    assert await values(table_editor, "n:tide_mill", "Guides") == ["Ann", "Dee", "Cy"]


async def test_lines_are_one_text_where_the_relation_holds_one(table_editor: Editor) -> None:
    await define(table_editor, "address", holds="one")
    await import_file(
        table_editor, workbook([["M", "Address"], ["Tide Mill", "Mill Lane 1\nNorwick"]]), subject="M"
    )
    assert await values(table_editor, "n:tide_mill", "address") == ["Mill Lane 1 Norwick"]


async def test_a_heading_is_the_relation_of_that_name_or_the_one_that_the_order_says(
    table_editor: Editor,
) -> None:
    content = workbook([["Museum", "FOUNDED", "Chef", "Notes"], ["Tide Mill", 1850, "Bo Lund", "x"]])
    receipt = await import_file(table_editor, content, subject="Museum", column=["Chef=director", "Notes="])
    assert await values(table_editor, "n:tide_mill", "founded") == ["1850"]
    assert await values(table_editor, "n:tide_mill", "Director") == ["Bo Lund"]
    assert (receipt["counts"]["triples"], receipt["counts"]["n_by_hand"]) == (2, 1)
    refused = await import_file(table_editor, content, subject="Museum", column=["Chief=director"])
    assert "no column is called 'Chief'" in refused["detail"]


async def test_a_new_relation_is_told_of_once_with_what_to_do(table_editor: Editor) -> None:
    receipt = await import_file(
        table_editor, workbook([["M", "Leitung"], ["Oak", "A"], ["Elm", "B"]]), subject="M"
    )
    warnings = [w for edit in receipt["report"]["edits"] for w in edit["warnings"] if "Leitung" in w]
    assert len(warnings) == 1
    assert "`column`" in warnings[0]
    await import_file(table_editor, tsv(("Oak", "seats", "3")))
    relations = body_of(await table_editor.call(ListRelations()))["relations"]
    assert {"Leitung", "seats", "Director", "founded"} <= {relation["relation"] for relation in relations}
    misspelt = await fact(table_editor, "Oak", "Leitun", "C")
    assert misspelt["code"] == "similar_name"


async def test_things_of_one_name_are_left_out_and_named(table_editor: Editor) -> None:
    data = "subject,subject_id,relation,object\nTwin,t:1,kind,a\nTwin,t:2,kind,b\n"
    await import_file(table_editor, data.encode())
    table = await table_of(table_editor)
    assert table["left_out"] == ["several things are called 'Twin': their rows are left out"]
    assert "Twin" not in [row[0] for row in table["rows"]]
    assert await head(table_editor) == table["version"]
