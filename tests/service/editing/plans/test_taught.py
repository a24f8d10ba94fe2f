"""A fact and a corrected answer about one matter are one matter: the later one answers, and the receipt says so."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from service.editing.editor import Editor
from tests.service.editing.conftest import StartEditor
from tests.service.editing.requests import edits, revert
from tests.service.graph.requests import answers, checksums, fact

TICKET = "What does an adult ticket for the Zennor Tin Museum cost?"
MUSEUM = "Zennor Tin Museum"
MONDAY = "When is the Zennor Tin Museum open on Monday?"


@pytest.fixture
async def editor(start_editor: StartEditor) -> AsyncIterator[Editor]:
    systems = {
        "nkb": "tests.service.editing.conftest:load_nkb",
        "atlas": "tests.service.toy_graph:load_atlas",
    }
    async with start_editor(systems=systems) as editor:
        yield editor


async def correct(editor: Editor, question: str, answer: str) -> dict[str, Any]:
    return await edits(editor, {"question": question, "answer": answer, "model": "nkb"})


async def test_a_fact_takes_the_place_of_an_older_answer_about_the_same_matter(editor: Editor) -> None:
    await correct(editor, TICKET, "free")
    before = await checksums(editor)
    receipt = await fact(editor, MUSEUM, "adult ticket price", "20 euros")
    assert await answers(editor, TICKET, model="nkb") == ["20 euros"]
    [test] = receipt["report"]["superseded_tests"]
    assert (test["question"], test["before"], test["by_version"]) == (TICKET, "free", 2)
    await revert(editor, 2)
    assert (await checksums(editor), await answers(editor, TICKET, model="nkb")) == (before, ["free"])


async def test_a_fact_about_another_matter_leaves_the_answer(editor: Editor) -> None:
    await correct(editor, MONDAY, "closed")
    await fact(editor, MUSEUM, "Tuesday opening hours", "10:00 to 17:00")
    await fact(editor, MUSEUM, "adult ticket price", "20 euros")
    assert await answers(editor, MONDAY, model="nkb") == ["closed"]


async def test_a_fact_for_the_graph_alone_leaves_the_answer(editor: Editor) -> None:
    await correct(editor, TICKET, "free")
    await fact(editor, MUSEUM, "adult ticket price", "20 euros", only="graph")
    assert await answers(editor, TICKET, model="nkb") == ["free"]


async def test_the_receipt_says_what_visitors_heard_until_now(editor: Editor) -> None:
    """The toy graph answers the question, and the corrected system does not know it."""
    await fact(editor, MUSEUM, "currency", "shell", only="graph")
    question = f"What is the currency of {MUSEUM}?"
    receipt = await correct(editor, question, "crown")
    [report] = receipt["report"]["edits"]
    assert report["before"] is None
    assert report["visitors"] == {
        "before": "shell",
        "after": "crown",
        "follows": False,
        "model": "nkb",
        "version": 2,
    }
    assert report["warnings"] == []


async def test_the_receipt_says_what_visitors_still_hear_and_how_to_change_it(editor: Editor) -> None:
    question = f"What is the currency of {MUSEUM}?"
    await correct(editor, question, "crown")
    receipt = await fact(editor, MUSEUM, "currency", "shell", only="graph")
    [report] = receipt["report"]["edits"]
    assert (report["visitors"]["after"], report["visitors"]["version"]) == ("crown", 1)
    assert "still hears 'crown' from nkb by version 1: correct" in report["warnings"][-1]
    assert "by `model` nkb" in report["warnings"][-1]
