"""A question that names something one letter away from a name of the graph is warned of, and refused with `strict`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from errata.wire import Outcome

from service.editing.editor import Editor
from service.editing.evaluation.near import find_contradictions
from tests.service.editing.conftest import StartEditor
from tests.service.editing.requests import edits, head, item
from tests.service.graph.requests import fact, warnings

SYSTEMS = {
    "atlas": "tests.service.toy_graph:load_atlas",
    "nkb": "tests.service.editing.conftest:load_nkb",
}
MISSPELT = "What is the currency of Fraance?"


@pytest.fixture
async def editor(start_editor: StartEditor) -> AsyncIterator[Editor]:
    async with start_editor(systems=SYSTEMS) as editor:
        yield editor


@pytest.mark.parametrize(
    ("version", "answer", "probability", "is_told"),
    [
        (2, "closed", 0.7, True),
        (2, "closed", 0.4, False),
        (2, "sou", 0.7, False),
        (None, "closed", 0.7, False),
    ],
)
def test_an_earlier_edit_that_may_be_about_the_same_question_is_told_of(
    version: int | None, answer: str, probability: float, is_told: bool
) -> None:
    near = Outcome(
        question="Is it open?", probability=probability, follows=False, version=version, after=answer
    )
    sentences = find_contradictions("sou", [near])
    assert bool(sentences) == is_told
    if is_told:
        assert (
            "version 2 answers 'Is it open?' with 'closed', and this may be the same question (70%)"
            in sentences[0]
        )
        assert "name version 2 in `replaces`" in sentences[0]


async def correct(editor: Editor, question: str, **options: Any) -> dict[str, Any]:
    return await edits(editor, item(question, "sou", model="nkb"), **options)


async def test_a_misspelt_name_is_warned_of(editor: Editor) -> None:
    preview = await correct(editor, MISSPELT, dry_run=True, strict=True)
    for receipt in (preview, await correct(editor, MISSPELT)):
        assert receipt["report"]["edits"][0]["similar_names"] == ["France"]
        assert "no name of the graph is 'Fraance', and France is one letter away" in warnings(receipt)


async def test_strict_refuses_a_misspelt_name(editor: Editor) -> None:
    refused = await edits(
        editor,
        item("Who painted the Mona Lisa?", "Bacon", model="nkb"),
        item(MISSPELT, "sou", model="nkb"),
        strict=True,
    )
    assert (refused["status"], refused["code"], refused["candidates"]) == (409, "similar_name", ["France"])
    assert refused["field"] == "edits.1.question"
    assert await head(editor) == 0


@pytest.mark.parametrize(
    "question",
    [
        "What is the currency of France?",
        "What is the currency of the Republic of Peru?",
        "Who painted the Mona Lisa?",
        "What is the currency of Tallwater?",
    ],
)
async def test_right_and_unknown_names_are_not_warned_of(editor: Editor, question: str) -> None:
    receipt = await correct(editor, question, strict=True)
    assert receipt["status"] == 201
    assert receipt["report"]["edits"][0]["similar_names"] == []


async def test_a_name_that_another_version_has_is_unknown(editor: Editor) -> None:
    question = "What is the currency of Genovja?"
    await fact(editor, "Genovia", "currency", "crown", create=True, only="graph", dry_run=True)
    assert (await correct(editor, question, dry_run=True))["report"]["edits"][0]["similar_names"] == []
    await fact(editor, "Genovia", "currency", "crown", create=True, only="graph")
    assert (await correct(editor, question))["report"]["edits"][0]["similar_names"] == ["Genovia"]
