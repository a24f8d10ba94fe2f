"""Edits that say more about an answer that an earlier edit gives already."""

from __future__ import annotations

from typing import Any

import pytest

from service.editing.editor import Editor
from service.editing.operations import GetEdit
from tests.service.editing.requests import PERU, checksum, edits, item, revert
from tests.service.parts import body_of

ALSO, SEAT = "Peru's capital city?", "Seat of Peru?"
MAYOR, RIVER = "Who is the mayor of the capital of Peru?", "Which river is in Peru?"


def correction(*paraphrases: str, **fields: Any) -> dict[str, Any]:
    return item(PERU, "Cusco", *paraphrases) | fields


async def make_edit(editor: Editor, *items: dict[str, Any], **options: Any) -> dict[str, Any]:
    """Make one edit, and return it as it is kept."""
    receipt = await edits(editor, *items, **options)
    assert receipt["status"] == 201, receipt
    (report,) = receipt["report"]["edits"]
    detail: dict[str, Any] = body_of(await editor.call(GetEdit(report["id"])))["edit"]
    return detail


@pytest.mark.parametrize("replaces", [[], [1]])
@pytest.mark.parametrize(
    ("fields", "name", "values"),
    [
        ({"paraphrases": [SEAT]}, "paraphrases", [SEAT, ALSO]),
        ({"counterexamples": [RIVER]}, "counterexamples", [RIVER, MAYOR]),
        (
            {"tests": [{"question": "Peru?", "answer": "Cusco"}]},
            "tests",
            [{"question": "Peru?", "answer": "Cusco"}, {"question": "Chile?", "answer": "x"}],
        ),
    ],
)
async def test_an_edit_that_says_more_takes_the_place_of_the_earlier_and_keeps_what_it_had(
    editor: Editor, fields: dict[str, Any], name: str, values: list[Any], replaces: list[int]
) -> None:
    test = {"question": "Chile?", "answer": "x"}
    first = await make_edit(editor, correction(ALSO, counterexamples=[MAYOR], tests=[test]))
    before = await checksum(editor)
    second = await make_edit(editor, correction(**fields, replaces=replaces), strict=True)
    assert second[name] == values
    assert ALSO in second["paraphrases"]
    assert MAYOR in second["counterexamples"]
    assert test in second["tests"]
    assert (second["notes"]["extends"], second["notes"]["replaces"]) == (1, [first["id"]])
    assert (await edits(editor, correction(**fields)))["code"] == "nothing_to_do"
    await revert(editor, 2)
    assert await checksum(editor) == before


@pytest.mark.parametrize("replaces", [[], [1]])
async def test_an_edit_that_says_nothing_new_is_still_refused(editor: Editor, replaces: list[int]) -> None:
    tests = [{"question": RIVER, "answer": None}]
    await edits(editor, correction(ALSO, counterexamples=[MAYOR], tests=tests))
    for fields in ({"paraphrases": [ALSO.upper()]}, {"counterexamples": [MAYOR]}, {"tests": tests}, {}):
        assert (await edits(editor, correction(**fields, replaces=replaces)))["code"] == "nothing_to_do", (
            fields
        )
    model_knows = item(PERU.replace("Peru", "Chile"), "Santiago") | {"counterexamples": [MAYOR]}
    assert (await edits(editor, model_knows))["code"] == "nothing_to_do"


async def test_a_wording_of_the_earlier_edit_is_no_example_against_the_new_one(editor: Editor) -> None:
    await edits(editor, correction(ALSO))
    refused = await edits(editor, correction(counterexamples=[ALSO]))
    assert (refused["status"], refused["field"]) == (422, "edits.0")
    assert "is a wording of version 1" in refused["detail"]


async def test_what_was_an_example_against_an_edit_may_become_a_wording(editor: Editor) -> None:
    await edits(editor, correction(counterexamples=[SEAT, MAYOR]))
    second = await make_edit(editor, correction(SEAT))
    assert (second["paraphrases"], second["counterexamples"]) == ([SEAT], [MAYOR])


async def test_an_edit_does_not_grow_without_an_end(editor: Editor) -> None:
    await edits(editor, correction(*(f"{n}?" for n in range(20))))
    refused = await edits(editor, correction("20?"))
    assert refused["status"] == 422
    assert "has 21 other wordings, and 20 are allowed" in refused["detail"]


async def test_what_an_edit_answered_by_its_scope_it_answers_no_more_with_an_example_against_it(
    nkb_editor: Editor,
) -> None:
    near = "What is Peru's capital?"
    await edits(nkb_editor, correction(ALSO, model="nkb"))
    receipt = await edits(nkb_editor, correction(model="nkb", counterexamples=[near]), strict=True)
    (report,) = receipt["report"]["edits"]
    assert [(other["before"], other["follows"]) for other in report["counterexamples"]] == [("Cusco", False)]
    assert [(other["question"], other["after"]) for other in report["paraphrases"]] == [(ALSO, "Cusco")]
