"""Edits that name the edits they replace, and examples against edits."""

from __future__ import annotations

from typing import Any

import pytest
from errata.wire import EditItem
from pydantic import ValidationError

from service.editing.editor import Editor
from service.editing.operations import GetEdit
from tests.service.editing.requests import PERU, check, edits, item, revert
from tests.service.parts import body_of

OPENS, HOURS = "When does the canteen open?", "canteen opening hours"
MAYOR = "Who is the mayor of the capital of Peru?"


def correction(question: str, answer: str, **fields: Any) -> dict[str, Any]:
    return item(question, answer, model="nkb") | fields


async def preview(editor: Editor, question: str) -> str | None:
    """Return the question's answer in a dry run of another edit that names it as a counterexample."""
    probe = correction("zzz?", "nothing", counterexamples=[question])
    report = (await edits(editor, probe, dry_run=True))["report"]["edits"][0]["counterexamples"][0]
    assert report["before"] == report["after"]
    assert not report["follows"]
    answer: str | None = report["after"]
    return answer


async def test_an_edit_answers_in_the_words_of_the_one_it_was_told_to_replace(nkb_editor: Editor) -> None:
    await edits(nkb_editor, correction(OPENS, "at eight"))
    receipt = await edits(nkb_editor, correction(HOURS, "nine to five", replaces=[1]), strict=True)
    (test,) = receipt["report"]["superseded_tests"]
    assert (test["question"], test["follows"], test["by_version"]) == (OPENS, True, 2)
    assert await preview(nkb_editor, OPENS) == "nine to five"
    report = await check(nkb_editor)
    assert (report.broken, report.overwritten, report.superseded) == ([], [], 1)
    await revert(nkb_editor, 2)
    assert await preview(nkb_editor, OPENS) == "at eight"


@pytest.mark.parametrize(
    ("name", "says"),
    [
        (7, "version 7 is no active correction of nkb"),
        ("0123456789ab", "edit 0123456789ab is no active correction of nkb"),
        (1, "version 1 made 2 edits of nkb: name the one that is meant by its id"),
    ],
)
async def test_whom_an_edit_replaces_has_to_be_one_edit_in_force(
    nkb_editor: Editor, name: int | str, says: str
) -> None:
    await edits(nkb_editor, correction(OPENS, "at eight"), correction(PERU, "Cusco"))
    refused = await edits(nkb_editor, correction(HOURS, "nine to five", replaces=[name]))
    assert (refused["status"], refused["field"]) == (422, "edits.0.replaces")
    assert says in refused["detail"]


async def test_an_edit_that_was_replaced_is_not_replaced_again(nkb_editor: Editor) -> None:
    await edits(nkb_editor, correction(OPENS, "at eight"))
    receipt = await edits(nkb_editor, correction(OPENS, "at nine"))
    id = receipt["report"]["edits"][0]["id"]
    item = correction(HOURS, "nine to five", replaces=[1])
    refused = await edits(nkb_editor, item)
    assert (refused["status"], refused["field"]) == (422, "edits.0.replaces")
    assert f"version 1 was replaced by edit {id} of version 2" in refused["detail"]
    await revert(nkb_editor, 2)
    assert (await edits(nkb_editor, item))["status"] == 201


async def test_one_of_several_edits_of_a_version_is_named_by_its_id(nkb_editor: Editor) -> None:
    receipt = await edits(nkb_editor, correction(OPENS, "at eight"), correction(PERU, "Cusco"))
    first = receipt["report"]["edits"][0]["id"]
    await edits(nkb_editor, correction(HOURS, "nine to five", replaces=[first]), strict=True)
    assert await preview(nkb_editor, OPENS) == "nine to five"
    assert await preview(nkb_editor, PERU) == "Cusco"


async def test_examples_against_an_edit_are_part_of_it(nkb_editor: Editor) -> None:
    receipt = await edits(nkb_editor, correction(PERU, "Cusco", counterexamples=[MAYOR]))
    (report,) = receipt["report"]["edits"]
    assert [(other["question"], other["follows"]) for other in report["counterexamples"]] == [(MAYOR, False)]
    detail = body_of(await nkb_editor.call(GetEdit(report["id"])))
    assert detail["edit"]["counterexamples"] == [MAYOR]


def test_an_example_for_and_against_an_edit_is_refused() -> None:
    with pytest.raises(ValidationError, match="is an example for this edit and against it"):
        EditItem(question=PERU, answer="Cusco", counterexamples=["what is the capital of PERU"])


@pytest.mark.parametrize("question", ["?", "😀", "..."])
def test_a_question_of_no_words_is_refused(question: str) -> None:
    for wordings in ([question], [PERU, question]):
        with pytest.raises(ValidationError, match="has no words"):
            EditItem(question=wordings[0], answer="Cusco", paraphrases=wordings[1:])


async def test_rows_of_surgery_take_no_examples_against_them(nkb_editor: Editor) -> None:
    item = correction(PERU, "Cusco", counterexamples=[MAYOR])
    refused = await edits(nkb_editor, item, method="surgery")
    assert (refused["code"], refused["reason"]) == ("edit_refused", "no_scope")
