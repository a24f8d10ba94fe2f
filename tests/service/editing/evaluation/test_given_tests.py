"""Tests that come with an edit are kept in its record and asked by a check; commits do not ask them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from errata.wire import EditItem
from pydantic import ValidationError

from service.editing.editor import Editor
from service.ledger.commit import Commit
from service.ledger.store import RedisLedger
from tests.service.editing.conftest import StartEditor
from tests.service.editing.requests import FRANCE, JAPAN, PERU, check, edits, head, item

RIVER = "Which river flows through the capital of Peru?"


def item_with_tests(question: str, answer: str, **tests: str | None) -> dict[str, Any]:
    """Return an edit with tests; `france`, `japan` and `river` stand for questions."""
    questions = {"france": FRANCE, "japan": JAPAN, "river": RIVER}
    wire_tests = [{"question": questions[name], "answer": expected} for name, expected in tests.items()]
    return item(question, answer) | {"tests": wire_tests}


async def failing(editor: Editor) -> list[tuple[int, str, str | None, str | None]]:
    """Return version, question, expected and actual answer of each failing test."""
    report = await check(editor)
    return [(test.version, test.question, test.before, test.after) for test in report.failing_tests]


async def test_an_edit_of_the_same_commit_takes_a_question_out_of_the_tests(editor: Editor) -> None:
    await edits(editor, item(FRANCE, "Lyon"), item_with_tests(PERU, "Cusco", france=None, japan=None))
    assert ((await check(editor)).tests, await failing(editor)) == (1, [])


async def test_tests_are_in_the_ledger_and_another_editor_reads_them(
    editor: Editor, ledger: RedisLedger, start_editor: StartEditor
) -> None:
    await edits(editor, item_with_tests(PERU, "Cusco", france=None), item(JAPAN, "Kyoto"))
    commit = await ledger.get(1)
    with_tests, plain = commit.edits
    assert [(test.question, test.answer) for test in with_tests.tests] == [(FRANCE, "Paris")]
    assert plain.tests == ()
    assert Commit.decode(commit.encoded).digest == commit.digest
    edits_of_commit = json.loads(commit.encoded)["edits"]
    assert ["tests" in edit for edit in edits_of_commit] == [True, False], (
        "an edit without tests is written as before"
    )
    async with start_editor() as other:
        assert (await check(other)).tests == 1


async def test_a_repeated_request_makes_one_commit_and_other_tests_make_another_request(
    editor: Editor,
) -> None:
    for _ in range(2):
        receipt = await edits(editor, item_with_tests(PERU, "Cusco", france=None), key="k")
        assert (receipt["version"], await head(editor)) == (1, 1)
    refused = await edits(editor, item_with_tests(PERU, "Cusco", japan=None), key="k")
    assert (refused["status"], refused["code"]) == (422, "invalid_input")


def test_a_test_of_another_answer_to_the_edits_own_question_is_refused() -> None:
    with pytest.raises(ValidationError, match="is an example for this edit and against it"):
        EditItem.model_validate(
            {**item_with_tests(PERU, "Cusco"), "tests": [{"question": "what is the capital of PERU"}]}
        )
