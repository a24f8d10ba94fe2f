"""With `strict` nothing is committed that breaks a fact test of an earlier edit; a superseded one is not broken."""

from __future__ import annotations

from typing import Any

import pytest

from service.editing.editor import Editor
from tests.service.editing.requests import FRANCE, PERU, change, head, revert, rollback

LIKE_PERU = "What is the capital, of Peru?"  # the same question to the toy, and other words to the service


async def test_what_is_superseded_or_was_broken_before_is_no_reason_to_refuse(editor: Editor) -> None:
    await change(editor, PERU, "Cusco")
    await change(editor, FRANCE, "Lyon", LIKE_PERU)
    assert (await change(editor, FRANCE, "Nice", strict=True))["version"] == 3
    assert (await change(editor, "Who wrote Hamlet?", "Bacon", strict=True))["version"] == 4


async def test_a_dry_run_shows_what_would_break_and_refuses_nothing(editor: Editor) -> None:
    await change(editor, PERU, "Cusco")
    preview = await change(editor, FRANCE, "Lyon", LIKE_PERU, strict=True, dry_run=True)
    assert (preview["status"], preview["version"]) == (200, None)
    assert [test["question"] for test in preview["report"]["broken_tests"]] == [PERU]


@pytest.mark.parametrize("undo", [revert, rollback])
async def test_taking_back_what_a_later_edit_rests_on_is_refused(editor: Editor, undo: Any) -> None:
    """The second edit was not needed for one of its wordings, which the first one answered."""
    await change(editor, PERU, "Cusco", "Seat of Peru?")
    await change(editor, FRANCE, "Cusco", "Seat of Peru?", method="surgery")
    await change(editor, "Who wrote Hamlet?", "Bacon")
    version = 1 if undo is revert else 2
    refused = await undo(editor, version, strict=True)
    if undo is rollback:
        assert refused["version"] == 4, "nothing rests on the newest edit"
    else:
        assert (refused["code"], [test["version"] for test in refused["tests"]]) == ("breaks_tests", [2])
        assert await head(editor) == 3
