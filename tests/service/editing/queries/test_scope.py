"""A curator sees which edits a question resembles, why each does or does not answer, and who made it."""

from __future__ import annotations

from errata.wire import EditDetail, RevertRequest, ScopeReport

from service.editing.editor import Editor
from service.editing.operations import GetEdit, GetScope, Undo
from tests.service.editing.requests import edits, item
from tests.service.parts import body_of

PERU, CHILE = "What is the capital of Peru?", "What is the capital of Chile?"
OTHER_WORDS = "Which city is the capital of Peru?"
YEAR_FOUNDED, FOUNDER = "When was Microsoft founded?", "Who founded Microsoft?"


async def examine(editor: Editor, question: str) -> ScopeReport:
    return ScopeReport.model_validate(body_of(await editor.call(GetScope(question))))


async def test_each_near_edit_is_listed_with_its_verdict_and_its_maker(nkb_editor: Editor) -> None:
    await edits(nkb_editor, item(PERU, "Cusco", model="nkb"), message="ticket 12")
    await edits(
        nkb_editor, item("Who leads project 7?", "Ann", model="nkb"), item(CHILE, "Arica", model="nkb")
    )
    report = await examine(nkb_editor, OTHER_WORDS)
    first = report.candidates[0]
    assert (report.version, report.model, report.edit) == (2, "nkb", first.edit)
    assert (first.verdict, first.question, first.answer) == ("answers", PERU, "Cusco")
    assert (first.version, first.author, first.message) == (1, "ana", "ticket 12")
    assert first.probability is not None
    assert first.probability >= 0.5
    verdicts = {candidate.question: candidate.verdict for candidate in report.candidates}
    assert verdicts[CHILE] == "other_subject"
    assert verdicts["Who leads project 7?"] == "other_literal"


async def test_a_question_that_only_resembles_an_edit_has_no_answer_and_says_how_unlikely(
    nkb_editor: Editor,
) -> None:
    await edits(nkb_editor, item(YEAR_FOUNDED, "1975", model="nkb"))
    report = await examine(nkb_editor, FOUNDER)
    assert report.edit is None
    assert report.candidates[0].verdict in ("not_asked", "near")
    assert await examine(nkb_editor, "What is the boiling point of neon?")


async def test_without_edits_there_are_no_candidates(nkb_editor: Editor) -> None:
    report = await examine(nkb_editor, PERU)
    assert (report.version, report.edit, report.candidates) == (0, None, [])


async def test_an_edit_is_shown_by_its_id_with_its_commit(nkb_editor: Editor) -> None:
    receipt = await edits(nkb_editor, item(PERU, "Cusco", model="nkb"), message="ticket 12")
    edit = receipt["report"]["edits"][0]["id"]
    detail = EditDetail.model_validate(body_of(await nkb_editor.call(GetEdit(edit))))
    assert (detail.version, detail.author, detail.message) == (1, "ana", "ticket 12")
    assert (detail.edit.question, detail.edit.answer, detail.edit.active) == (PERU, "Cusco", True)


async def test_a_version_has_the_edits_that_it_had(nkb_editor: Editor) -> None:
    await edits(nkb_editor, item(PERU, "Cusco", model="nkb"))
    await edits(nkb_editor, item(PERU, "Puno", model="nkb"))
    for version, answers in ((0, []), (1, ["Cusco"]), (2, ["Puno"])):
        report = ScopeReport.model_validate(
            body_of(await nkb_editor.call(GetScope(OTHER_WORDS, None, version)))
        )
        answering = [candidate.answer for candidate in report.candidates if candidate.verdict == "answers"]
        assert (report.version, answering) == (version, answers)
    assert (await nkb_editor.call(GetScope(PERU, None, 3))).status == 404


async def test_what_is_not_there_is_told(nkb_editor: Editor, editor: Editor) -> None:
    assert (await nkb_editor.call(GetEdit("nothing"))).status == 404
    assert (await nkb_editor.call(GetScope(PERU, "nobody"))).status == 404
    outcome = await editor.call(GetScope(PERU, "toy"))
    assert outcome.status == 422
    assert b"no edits of questions" in outcome.body


async def test_an_edit_replaces_one_that_asks_the_same_and_no_other(nkb_editor: Editor) -> None:
    """Two facts about one thing are two facts; a revert of the later of two edits of one fact uncovers the first."""
    await edits(nkb_editor, item(YEAR_FOUNDED, "1975", model="nkb"))
    await edits(nkb_editor, item(FOUNDER, "Bill Gates", model="nkb"))
    await edits(nkb_editor, item(YEAR_FOUNDED.upper(), "1976", model="nkb"))
    model = nkb_editor.pipeline.state.models["nkb"]  # type: ignore[union-attr]
    answers = await model.ask([YEAR_FOUNDED, FOUNDER])
    assert [answers[question].text for question in (YEAR_FOUNDED, FOUNDER)] == ["1976", "Bill Gates"]
    body_of(await nkb_editor.call(Undo(RevertRequest.model_validate({"version": 3, "wait": "none"}), "ana")))
    model = nkb_editor.pipeline.state.models["nkb"]  # type: ignore[union-attr]
    answers = await model.ask([YEAR_FOUNDED, FOUNDER])
    assert [answers[question].text for question in (YEAR_FOUNDED, FOUNDER)] == ["1975", "Bill Gates"]


async def test_two_edits_of_one_commit_that_only_resemble_each_other_are_both_made(
    nkb_editor: Editor,
) -> None:
    receipt = await edits(
        nkb_editor, item(YEAR_FOUNDED, "1975", model="nkb"), item(FOUNDER, "Bill Gates", model="nkb")
    )
    assert [edit["holds"] for edit in receipt["report"]["edits"]] == [True, True]
