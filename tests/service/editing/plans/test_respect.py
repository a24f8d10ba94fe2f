"""An import respects what people edited: it is refused, leaves that out, or says what it replaced."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from service.editing.editor import Editor
from service.editing.operations import RunChecks
from tests.service.editing.conftest import StartEditor
from tests.service.editing.requests import head
from tests.service.graph.requests import define, fact, import_file, tsv, values
from tests.service.parts import body_of
from tests.service.toy_graph import TOYS

OLD = tsv(
    ("Skelby", "director", "Edith Lund"),
    ("Skelby", "phone", "555 01"),
    ("Brindle", "director", "Noor Halim"),
)
SKELBY = "n:skelby"


@pytest.fixture
async def editor(start_editor: StartEditor) -> AsyncIterator[Editor]:
    """Import an old list, and correct one of its values by hand."""
    async with start_editor(systems=TOYS) as editor:
        await define(editor, "director", holds="one")
        await import_file(editor, OLD, source="old.tsv")
        await fact(editor, "Skelby", "director", "Ida Brook")
        yield editor


async def check(editor: Editor) -> dict[str, Any]:
    return body_of(await editor.call(RunChecks(True)))


async def test_strict_refuses_an_import_that_replaces_a_correction_and_lists_it(editor: Editor) -> None:
    refused = await import_file(editor, OLD + tsv(("Skelby", "founded", "1911")), strict=True)
    assert (refused["status"], refused["code"], await head(editor)) == (409, "breaks_tests", 3)
    assert (
        "line 1: Skelby · director is Ida Brook by version 3 of ana, and Edith Lund here" in refused["detail"]
    )
    [test] = refused["tests"]
    assert (test["question"], test["before"], test["after"]) == (
        "Skelby · director",
        "Ida Brook",
        "Edith Lund",
    )


@pytest.mark.parametrize("act", ["set", "remove"])
async def test_a_value_beside_one_that_a_person_set_and_one_taken_away_count_too(
    editor: Editor, act: str
) -> None:
    await fact(editor, "Skelby", "phone", "555 99" if act == "set" else "555 01", act=act)
    refused = await import_file(editor, tsv(("Skelby", "phone", "555 01")), strict=True)
    assert refused["code"] == "breaks_tests"


async def test_the_same_file_again_is_nothing_new_and_makes_no_version(editor: Editor) -> None:
    data = tsv(("Oz", "capital", "Emerald City"), ("Oz", "motto", "Home"))
    assert (await import_file(editor, data))["status"] == 201
    again = await import_file(editor, data)
    assert (again["code"], await head(editor)) == ("nothing_to_do", 4)
    assert "nothing new: the graph says all 2 triples of the file" in again["detail"]
    receipt = await import_file(editor, data + tsv(("Oz", "motto", "No place like it")))
    assert (receipt["status"], receipt["counts"]["n_replaced"]) == (201, 0)


async def test_a_new_name_one_letter_away_is_told_of_and_refused_by_strict(editor: Editor) -> None:
    data = tsv(("Brindl", "phone", "555 02"), ("Kestrel Mill", "phone", "1"), ("Kestrel Mil", "phone", "2"))
    refused = await import_file(editor, data, strict=True)
    assert (refused["code"], refused["candidates"]) == ("similar_name", ["Brindle"])
    receipt = await import_file(editor, data)
    text = " ".join(receipt["report"]["edits"][0]["warnings"])
    assert "'Brindl' is new, and Brindle is one letter away" in text
    assert ("'Kestrel Mil' is new" in text) != ("'Kestrel Mill' is new" in text)


async def test_a_check_counts_a_fact_that_a_later_fact_replaced_as_meant(editor: Editor) -> None:
    await fact(editor, "Skelby", "director", "Carl Finch")
    report = await check(editor)
    assert (report["superseded"], report["overwritten"]) == (1, [])


async def test_a_table_sets_its_cells_and_again_is_nothing_new(editor: Editor) -> None:
    table = "Museum;director;phone\nSkelby;Edith Lund;555 02\nOak Hall;Bo Lund;555 03\n".encode("utf-8-sig")
    refused = await import_file(editor, table, subject="Museum", strict=True)
    assert refused["code"] == "breaks_tests"
    receipt = await import_file(editor, table, subject="Museum", keep_corrections=True)
    assert (receipt["status"], receipt["counts"]["n_replaced"], receipt["counts"]["n_by_hand"]) == (201, 1, 1)
    assert await values(editor, SKELBY, "phone") == ["555 02"], "a cell takes the place of the old value"
    assert await values(editor, SKELBY, "director") == ["Ida Brook"]
    again = await import_file(editor, table, subject="Museum", keep_corrections=True)
    assert again["code"] == "nothing_to_do"
