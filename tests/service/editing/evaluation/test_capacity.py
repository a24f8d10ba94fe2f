"""Edits that own slots take no more than the bank has, and a warning comes before it is full."""

from __future__ import annotations

from typing import Any

import pytest

from service.editing.editor import Editor
from tests.service.editing.conftest import StartEditor
from tests.service.editing.requests import FRANCE, JAPAN, PERU, change, edits, head, item, revert


async def room(editor: Editor, question: str) -> tuple[int, int, bool]:
    """Return slots used and reserved after one more edit, and whether there is a warning."""
    capacity = (await change(editor, question, "Cusco"))["report"]["capacity"]
    return capacity["slots_used"], capacity["slots_reserved"], bool(capacity["warnings"])


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"bank_slots": 3}, [(1, 3, False), (2, 3, False), (3, 3, True)]),
        (
            {"bank_slots": 1, "auto_grow_bank": True},
            [(1, 2, False), (2, 4, False), (3, 4, False), (4, 8, False)],
        ),
    ],
    ids=["scarce slots give a warning", "a bank that grows has room for all"],
)
async def test_slots_are_counted(
    start_editor: StartEditor, options: dict[str, Any], expected: list[tuple[int, int, bool]]
) -> None:
    async with start_editor(**options) as editor:
        questions = [PERU, FRANCE, JAPAN, "What is the capital of Chile?"][: len(expected)]
        assert [await room(editor, question) for question in questions] == expected


async def test_edits_that_do_not_fit_are_refused_whole_and_fit_after_a_revert(
    start_editor: StartEditor,
) -> None:
    async with start_editor(bank_slots=2) as editor:
        await change(editor, PERU, "Cusco")
        items = (item(FRANCE, "Lyon"), item(JAPAN, "Kyoto"))
        refused = await edits(editor, *items)
        assert (refused["status"], refused["code"]) == (409, "memory_full")
        assert (refused["used"], refused["slots"]) == (3, 2)
        assert await head(editor) == 1
        assert (await edits(editor, *items, dry_run=True))["report"]["capacity"]["slots_used"] == 3
        await revert(editor, 1)
        assert (await edits(editor, *items))["version"] == 3


async def test_taking_back_is_never_refused(start_editor: StartEditor) -> None:
    async with start_editor() as editor:
        await edits(editor, item(FRANCE, "Lyon"), item(JAPAN, "Kyoto"))
        await change(editor, PERU, "Cusco")
    async with start_editor(bank_slots=1) as editor:
        taken_back = await revert(editor, 2)
        assert taken_back["version"] == 3
        assert taken_back["report"]["capacity"]["warnings"][0].startswith(
            "2 slots are wanted and 1 are set aside"
        )


async def test_a_preview_reports_that_slots_run_out(start_editor: StartEditor) -> None:
    items = (item(PERU, "Cusco"), item(FRANCE, "Lyon"), item(JAPAN, "Kyoto"))
    async with start_editor(bank_slots=2) as editor:
        refused = await edits(editor, *items, dry_run=True, measure=False)
        assert (refused["code"], refused["used"], refused["slots"]) == ("memory_full", 3, 2)
        capacity = (await edits(editor, *items, dry_run=True))["report"]["capacity"]
        assert capacity["warnings"][0].startswith(
            "3 slots are wanted and 2 are set aside: start the service with more"
        )


async def test_in_a_preview_an_idle_edit_takes_no_slot(start_editor: StartEditor) -> None:
    async with start_editor(bank_slots=2) as editor:
        await edits(editor, item(PERU, "Cusco"), item(FRANCE, "Lyon"))
        items = (item(PERU, "Cusco"), item(FRANCE, "Lyon"), item(JAPAN, "Tokyo"))
        assert (await edits(editor, *items, dry_run=True, measure=False))["status"] == 200
        preview = await edits(editor, *items[:2], item(JAPAN, "Kyoto"), dry_run=True, measure=False)
        assert (preview["code"], preview["used"]) == ("memory_full", 3)


async def test_an_idle_dry_run_reports_the_capacity_as_it_is(editor: Editor) -> None:
    await change(editor, PERU, "Cusco")
    preview = await edits(editor, item(PERU, "Cusco"), dry_run=True)
    assert preview["report"]["capacity"]["slots_used"] == 1
