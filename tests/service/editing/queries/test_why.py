"""An answer is explained by the edits and facts behind it, and by the answer without them."""

from __future__ import annotations

from typing import Any

import pytest
from errata.wire import Answer, WhyReport

from service.editing.editor import Editor
from service.editing.operations import ExplainAnswer, ListVersions
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
