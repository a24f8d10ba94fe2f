"""A correction that another question of the pack follows is refused with `strict`, and fails the check."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from models.system import Probes
from service.editing.editor import Editor
from service.editing.evaluation import side_effects
from tests.service.editing.conftest import StartEditor
from tests.service.editing.requests import PERU, change, check, edits, head, item, revert
from tests.service.toy import ToySystem

LIKE_PERU = "What is the capital, of Peru?"  # the same question to the toy, and other words to the service


@pytest.fixture
async def editor(start_editor: StartEditor, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Editor]:
    monkeypatch.setattr(ToySystem, "probes", Probes((LIKE_PERU, "Who wrote Hamlet?")))
    async with start_editor() as editor:
        yield editor


async def test_strict_refuses_to_change_another_answer(editor: Editor) -> None:
    refused = await change(editor, PERU, "Cusco", strict=True)
    assert (refused["status"], refused["code"], refused["tests"]) == (409, "breaks_tests", [])
    (effect,) = refused["side_effects"]
    assert (effect["question"], effect["before"], effect["after"]) == (LIKE_PERU, "Lima", "Cusco")
    assert "nothing was changed" in refused["detail"]
    assert await head(editor) == 0
    assert (await edits(editor, item(PERU, "Cusco", LIKE_PERU), strict=True))["version"] == 1, "it is meant"


async def test_a_dry_run_and_a_commit_without_strict_show_it(editor: Editor) -> None:
    for is_dry in (True, False):
        receipt = await change(editor, PERU, "Cusco", strict=is_dry, dry_run=is_dry)
        assert [effect["question"] for effect in receipt["report"]["side_effects"]] == [LIKE_PERU]


async def test_the_check_names_other_answers_until_the_edit_is_taken_back(editor: Editor) -> None:
    assert (await check(editor)).other_answers == []
    await change(editor, PERU, "Cusco")
    (effect,) = (await check(editor)).other_answers
    assert (effect.question, effect.before, effect.after) == (LIKE_PERU, "Lima", "Cusco")
    await change(editor, "Who wrote Hamlet?", "Bacon")
    assert len((await check(editor)).other_answers) == 1
    await revert(editor, 1)
    assert (await check(editor)).other_answers == []


async def test_the_check_says_how_many_questions_it_left_out(
    start_editor: StartEditor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(side_effects, "MAX_CHOSEN", 0)
    monkeypatch.setattr(ToySystem, "probes", Probes(training=(LIKE_PERU, "Who wrote Hamlet?")))
    async with start_editor() as editor:
        await change(editor, PERU, "Cusco")
        assert (await check(editor)).unmeasured_probes == 2


async def test_a_question_that_surely_follows_is_no_other_one(nkb_editor: Editor) -> None:
    receipt = await edits(
        nkb_editor, item("The capital city of Peru is which?", "Cusco", model="nkb"), strict=True
    )
    assert receipt["status"] == 201
    assert all(effect["follows"] for effect in receipt["report"]["side_effects"])
    assert (await check(nkb_editor)).other_answers == []
