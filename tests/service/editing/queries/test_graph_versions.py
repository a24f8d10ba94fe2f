"""Fact tests, diffs and the log of commits that change the graph."""

from collections.abc import AsyncIterator

import pytest
from errata.wire import MemoryState, VersionDetail, VersionLog

from service.editing.editor import Editor
from service.editing.operations import GetMemory, GetVersion, ListVersions
from tests.service.editing.conftest import StartEditor
from tests.service.editing.requests import change, check, diff, edits, revert, revert_edits, rollback
from tests.service.graph.requests import CAPITAL, define, fact, import_file, triple, tsv
from tests.service.toy_graph import TOYS


@pytest.fixture
async def editor(start_editor: StartEditor) -> AsyncIterator[Editor]:
    async with start_editor(systems=TOYS) as editor:
        yield editor


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
    receipt = await fact(editor, "Peru", "label", "Perú")
    assert receipt["report"]["broken_tests"] == [], "the old name stays an alias"
    receipt = await fact(editor, "Perú", "alias", "Peru", act="remove")
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
