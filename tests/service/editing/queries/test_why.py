"""Why an answer is given, and where."""

from typing import Any

import pytest
from errata.wire import Answer, EditDetail, RevertRequest, ScopeReport, WhyReport

from service.editing.editor import Editor
from service.editing.operations import ExplainAnswer, GetEdit, GetScope, ListVersions, Undo
from tests.service.editing.conftest import StartEditor
from tests.service.editing.requests import FRANCE, PERU, edits, head, item, revert
from tests.service.graph.requests import CAPITAL, fact
from tests.service.parts import body_of
from tests.service.toy_graph import TOYS

OTHER_WORDS = "Which city is the capital of Peru?"


def make_answer(
    answer: str | None, model: str, edits: list[str], facts: list[dict[str, Any]]
) -> dict[str, Any]:
    """Return an answer as a replica gives it."""
    return {
        **{"answer": answer, "score": 0.9, "best": answer or "", "alternatives": [], "model": model},
        **{"version": 1, "edits": edits, "facts": facts, "replica": "a"},
        "timings": {"queue_ms": 0, "graph_ms": 0, "model_ms": 0, "total_ms": 0},
    }


async def why(editor: Editor, question: str, answer: dict[str, Any]) -> WhyReport:
    newest = Answer.model_validate({**answer, "version": await head(editor)})
    return WhyReport.model_validate(body_of(await editor.call(ExplainAnswer(question, newest))))


async def test_a_version_is_explained_as_it_was(nkb_editor: Editor) -> None:
    receipt = await edits(nkb_editor, item(PERU, "Cusco", model="nkb"), message="ticket 12")
    edit = receipt["report"]["edits"][0]["id"]
    await edits(nkb_editor, item(PERU, "Puno", model="nkb"))
    await revert(nkb_editor, 1)
    answer = make_answer("Cusco", "nkb", [edit], [])
    report = WhyReport.model_validate(
        body_of(
            await nkb_editor.call(ExplainAnswer(OTHER_WORDS, Answer.model_validate({**answer, "version": 1})))
        )
    )
    (cause,) = report.causes
    assert (cause.edit.id, cause.edit.active, cause.wording, cause.message) == (edit, True, PERU, "ticket 12")
    assert report.without is not None
    assert (report.without.answer, report.without.edits) == ("Lima", [])
    unknown = Answer.model_validate({**answer, "version": 9})
    assert (await nkb_editor.call(ExplainAnswer(OTHER_WORDS, unknown))).status == 404


async def test_what_the_model_learnt_has_no_cause(editor: Editor) -> None:
    report = await why(editor, FRANCE, make_answer("Paris", "toy", [], []))
    assert (report.causes, report.facts, report.without) == ([], [], None)


async def test_the_wording_that_matched_is_named_with_its_probability(nkb_editor: Editor) -> None:
    receipt = await edits(nkb_editor, item(PERU, "Cusco", model="nkb"), message="ticket 12")
    edit = receipt["report"]["edits"][0]["id"]
    report = await why(nkb_editor, OTHER_WORDS, make_answer("Cusco", "nkb", [edit], []))
    (cause,) = report.causes
    assert (cause.wording, cause.owner, cause.message) == (PERU, edit, "ticket 12")
    assert cause.probability is not None
    assert cause.probability >= 0.5
    assert report.without is not None
    assert (report.without.answer, report.without.edits) == ("Lima", [])


async def test_an_answer_of_another_day_is_explained_as_of_that_day(start_editor: StartEditor) -> None:
    async with start_editor(systems=TOYS) as editor:
        mayor = {"subject": "Riverton", "relation": "mayor", "act": "add"}
        ina = {**mayor, "object": "Ina", "begin": "2001", "end": "2012"}
        bo = {**mayor, "object": "Bo", "begin": "2001", "end": "2012"}
        await edits(editor, {**mayor, "object": "Cal", "begin": "2013"}, bo)
        edit = (await edits(editor, ina))["report"]["edits"][0]["id"]
        answer = make_answer("Ina", "atlas", [edit], []) | {"as_of": "2005-01-01"}
        report = await why(editor, "Who is the mayor of Riverton?", answer)
        assert report.without is not None
        assert report.without.answer == "Bo"


@pytest.mark.parametrize("act", ["set", None])
async def test_a_fact_is_named_and_the_older_one_answers_without_it(
    start_editor: StartEditor, act: str | None
) -> None:
    async with start_editor(systems=TOYS) as editor:
        report = (await fact(editor, "Peru", "capital", "Cusco", act=act))["report"]
        edit = next(e["id"] for e in report["edits"] if e["memory"] == "graph/triples")
        triple = {"entity": "Q419", "subject": "Peru", "relation": "capital", "label": "capital"}
        reasons = await why(
            editor,
            CAPITAL,
            make_answer("Cusco", "atlas", [edit], [{**triple, "object": "Cusco", "edit": edit}]),
        )
        assert [(cause.edit.id, cause.wording) for cause in reasons.causes] == [(edit, None)]
        assert reasons.facts == []
        assert reasons.without is not None
        assert (reasons.without.answer, reasons.without.edits) == ("Lima", [])


async def test_a_fact_of_the_base_is_named_and_nothing_answers_without_it(start_editor: StartEditor) -> None:
    async with start_editor(systems=TOYS) as editor:
        triple = {"entity": "Q419", "subject": "Peru", "relation": "capital", "label": "capital"}
        reasons = await why(editor, CAPITAL, make_answer("Lima", "atlas", [], [{**triple, "object": "Lima"}]))
        assert [fact.object for fact in reasons.facts] == ["Lima"]
        assert reasons.without is not None
        assert reasons.without.answer is None
        assert body_of(await editor.call(ListVersions(1)))["head"] == 0, "nothing is written"


PERU_ID, CHILE = "What is the capital of Peru?", "What is the capital of Chile?"
YEAR_FOUNDED, FOUNDER = "When was Microsoft founded?", "Who founded Microsoft?"


async def examine(editor: Editor, question: str) -> ScopeReport:
    return ScopeReport.model_validate(body_of(await editor.call(GetScope(question))))


async def test_each_near_edit_is_listed_with_its_verdict_and_its_maker(nkb_editor: Editor) -> None:
    await edits(nkb_editor, item(PERU_ID, "Cusco", model="nkb"), message="ticket 12")
    await edits(
        nkb_editor, item("Who leads project 7?", "Ann", model="nkb"), item(CHILE, "Arica", model="nkb")
    )
    report = await examine(nkb_editor, OTHER_WORDS)
    first = report.candidates[0]
    assert (report.version, report.model, report.edit) == (2, "nkb", first.edit)
    assert (first.verdict, first.question, first.answer) == ("answers", PERU_ID, "Cusco")
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
    report = await examine(nkb_editor, PERU_ID)
    assert (report.version, report.edit, report.candidates) == (0, None, [])


async def test_an_edit_is_shown_by_its_id_with_its_commit(nkb_editor: Editor) -> None:
    receipt = await edits(nkb_editor, item(PERU_ID, "Cusco", model="nkb"), message="ticket 12")
    edit = receipt["report"]["edits"][0]["id"]
    detail = EditDetail.model_validate(body_of(await nkb_editor.call(GetEdit(edit))))
    assert (detail.version, detail.author, detail.message) == (1, "ana", "ticket 12")
    assert (detail.edit.question, detail.edit.answer, detail.edit.active) == (PERU_ID, "Cusco", True)


async def test_a_version_has_the_edits_that_it_had(nkb_editor: Editor) -> None:
    await edits(nkb_editor, item(PERU_ID, "Cusco", model="nkb"))
    await edits(nkb_editor, item(PERU_ID, "Puno", model="nkb"))
    for version, answers in ((0, []), (1, ["Cusco"]), (2, ["Puno"])):
        report = ScopeReport.model_validate(
            body_of(await nkb_editor.call(GetScope(OTHER_WORDS, None, version)))
        )
        answering = [candidate.answer for candidate in report.candidates if candidate.verdict == "answers"]
        assert (report.version, answering) == (version, answers)
    assert (await nkb_editor.call(GetScope(PERU_ID, None, 3))).status == 404


async def test_what_is_not_there_is_told(nkb_editor: Editor, editor: Editor) -> None:
    assert (await nkb_editor.call(GetEdit("nothing"))).status == 404
    assert (await nkb_editor.call(GetScope(PERU_ID, "nobody"))).status == 404
    outcome = await editor.call(GetScope(PERU_ID, "toy"))
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
