"""An edit of an answer holds for every name that the graph has for the entities in its question."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from service.editing.editor import Editor
from tests.service.editing.conftest import StartEditor
from tests.service.editing.requests import PERU, edits, item, revert
from tests.service.graph.requests import answers, fact

SYSTEMS = {
    "atlas": "tests.service.toy_graph:load_atlas",
    "nkb": "tests.service.editing.conftest:load_nkb",
}
REPUBLIC = "What is the capital of the Republic of Peru?"


@pytest.fixture
async def editor(start_editor: StartEditor) -> AsyncIterator[Editor]:
    async with start_editor(systems=SYSTEMS) as editor:
        yield editor


async def correct(editor: Editor, question: str, answer: str) -> None:
    await edits(editor, item(question, answer, model="nkb"))


async def ask(editor: Editor, *questions: str) -> list[str | None]:
    return [(await answers(editor, question, model="nkb"))[0] for question in questions]


@pytest.mark.parametrize("question", [PERU, REPUBLIC])
async def test_every_name_of_the_graph_is_followed(editor: Editor, question: str) -> None:
    await correct(editor, question, "Cusco")
    assert (
        await ask(editor, PERU, REPUBLIC, "Which city is the capital of the Republic of Peru?")
        == ["Cusco"] * 3
    )


async def test_an_edit_in_another_name_replaces_the_first(editor: Editor) -> None:
    await correct(editor, PERU, "Cusco")
    await correct(editor, REPUBLIC, "Puno")
    assert await ask(editor, PERU, REPUBLIC) == ["Puno", "Puno"]
    await revert(editor, 2)
    assert await ask(editor, PERU, REPUBLIC) == ["Cusco", "Cusco"]


async def test_a_name_that_means_several_is_left_alone(editor: Editor) -> None:
    await fact(editor, "Peru", "alias", "Land of the Sun")
    await fact(editor, "Japan", "alias", "Land of the Sun")
    await correct(editor, PERU, "Cusco")
    (sun,) = await ask(editor, "What is the capital of the Land of the Sun?")
    assert sun != "Cusco"
