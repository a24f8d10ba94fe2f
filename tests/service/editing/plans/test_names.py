"""Names in facts: which thing a fact is about, and other names of it."""

from collections.abc import AsyncIterator

import pytest

from models.scope.spelling import resembling
from service.editing.editor import Editor
from tests.service.editing.conftest import StartEditor
from tests.service.editing.requests import PERU, edits, head, item, revert
from tests.service.graph.requests import answers, define, fact, import_file, triple, values
from tests.service.toy_graph import TOYS

OPTIONS = {"systems": TOYS}


@pytest.mark.parametrize(("act", "expected"), [("set", ["399"]), ("add", ["349", "399"])])
async def test_who_says_add_or_set_is_not_asked(editor: Editor, act: str, expected: list[str]) -> None:
    await fact(editor, "Peru", "price", "349")
    await fact(editor, "Peru", "price", "399", act=act)
    assert await values(editor, "Q419", "price") == expected


@pytest.mark.parametrize(("holds", "expected"), [("one", ["399"]), ("many", ["349", "399"])])
async def test_a_defined_relation_decides(editor: Editor, holds: str, expected: list[str]) -> None:
    await define(editor, "price", holds=holds)
    await fact(editor, "Peru", "price", "349")
    await fact(editor, "Peru", "price", "399")
    assert await values(editor, "Q419", "price") == expected


async def test_a_relation_is_called_by_its_label_too(editor: Editor) -> None:
    await define(editor, "twin town", holds="many", label="twin towns")
    await fact(editor, "Peru", "Twin towns", "Zell")
    await fact(editor, "Peru", "twin town", "Ulm")
    assert await values(editor, "Q419", "twin town") == ["Zell", "Ulm"]
    await define(editor, "sister city", holds="many", label="twin towns")
    refused = await fact(editor, "Peru", "twin towns", "Bern")
    assert (refused["status"], refused["code"]) == (409, "ambiguous")
    assert [candidate["id"] for candidate in refused["candidates"]] == ["twin town", "sister city"]


async def test_two_values_of_a_new_relation_in_one_request_are_asked_about(editor: Editor) -> None:
    items = triple("Peru", "price", "349"), triple("Peru", "price", "399")
    assert (await edits(editor, *items))["code"] == "add_or_set"
    assert await head(editor) == 0


@pytest.mark.parametrize("name", ["Chilee", "Chille", "Cihle", "Chils"])
async def test_a_subject_one_letter_away_from_a_known_one_is_no_new_one(editor: Editor, name: str) -> None:
    refused = await fact(editor, name, "capital", "Talca")
    assert (refused["status"], refused["code"], refused["candidates"]) == (409, "similar_name", ["Chile"])
    assert "Chile is in use" in refused["detail"]
    assert "say `create` to" in refused["detail"]
    assert (await fact(editor, name, "capital", "Talca", create=True))["version"] == 1


async def test_a_name_whose_ids_are_all_of_others_makes_no_new_thing(editor: Editor) -> None:
    ids = ["n:zell", *(f"n:zell~{n}" for n in range(2, 20))]
    rows = "".join(f"Thing {n},{id},motto,m\n" for n, id in enumerate(ids))
    await import_file(editor, f"subject,subject_id,relation,object\n{rows}".encode())
    refused = await fact(editor, "Zell", "motto", "x", create=True)
    assert (refused["status"], refused["code"], await head(editor)) == (422, "invalid_input", 1)
    assert "n:zell~19" in refused["detail"]
    assert await values(editor, ids[-1], "motto") == ["m"]


DASHES = "Vey–Orla Railway\tcapital\tTor Aas\nÎle Verdane\tcapital\tLéo Marais\nPena\tcapital\tUna Bø\n"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Vey–Orla Railway", "Tor Aas"),
        ("Vey-Orla Railway", "Tor Aas"),
        ("vey−orla railway", "Tor Aas"),
        ("Ile Verdane", "Léo Marais"),
    ],
)
async def test_a_name_is_found_with_any_dash_and_without_accents(
    editor: Editor, name: str, expected: str
) -> None:
    await import_file(editor, DASHES.encode())
    assert await answers(editor, f"What is the capital of {name}?") == [expected]
    receipt = await fact(editor, name, "capital", "Eva Dahl", act="set")
    assert receipt["report"]["edits"][0]["warnings"] == []
    assert await answers(editor, f"What is the capital of {name}?") == ["Eva Dahl"]


async def test_names_that_differ_in_accents_alone_are_two_things_and_the_exact_one_is_meant(
    editor: Editor,
) -> None:
    await import_file(editor, DASHES.encode())
    receipt = await import_file(editor, "Peña\tcapital\tEva Dahl\n".encode())
    assert "'Peña' is new, and Pena is one letter away" in str(receipt)
    questions = [f"What is the capital of {name}?" for name in ("Pena", "Peña")]
    assert await answers(editor, *questions) == ["Una Bø", "Eva Dahl"]
    refused = await fact(editor, "Peñà", "capital", "Tor Aas")
    assert (refused["code"], len(refused["candidates"])) == ("ambiguous", 2)
    await fact(editor, "Péna", "capital", "Tor Aas", create=True)
    assert await values(editor, "n:péna", "capital") == ["Tor Aas"]


async def test_one_file_makes_one_thing_of_a_name_with_two_dashes(editor: Editor) -> None:
    await import_file(editor, "A–B Line\tstation\tOrla\nA-B Line\tstation\tSele\n".encode())
    assert await values(editor, "n:a-b_line", "station") == ["Orla", "Sele"]
    await edits(editor, triple("C–D Line", "station", "Orla"), triple("C-D Line", "motto", "on"))
    assert await values(editor, "n:c-d_line", "motto") == ["on"]


def test_short_names_and_other_digits_are_other_names() -> None:
    assert list(resembling("a8x")) == []
    assert "falcon 3" not in set(resembling("falcon 2"))
    assert {"falcn 2", "flacon 2", "falconn 2", "falkon 2"} <= set(resembling("falcon 2"))


SYSTEMS = {
    "atlas": "tests.service.toy_graph:load_atlas",
    "nkb": "tests.service.editing.conftest:load_nkb",
}
REPUBLIC = "What is the capital of the Republic of Peru?"


@pytest.fixture
async def naming_editor(start_editor: StartEditor) -> AsyncIterator[Editor]:
    async with start_editor(systems=SYSTEMS) as naming_editor:
        yield naming_editor


async def correct(naming_editor: Editor, question: str, answer: str) -> None:
    await edits(naming_editor, item(question, answer, model="nkb"))


async def ask(naming_editor: Editor, *questions: str) -> list[str | None]:
    return [(await answers(naming_editor, question, model="nkb"))[0] for question in questions]


@pytest.mark.parametrize("question", [PERU, REPUBLIC])
async def test_every_name_of_the_graph_is_followed(naming_editor: Editor, question: str) -> None:
    await correct(naming_editor, question, "Cusco")
    assert (
        await ask(naming_editor, PERU, REPUBLIC, "Which city is the capital of the Republic of Peru?")
        == ["Cusco"] * 3
    )


async def test_an_edit_in_another_name_replaces_the_first(naming_editor: Editor) -> None:
    await correct(naming_editor, PERU, "Cusco")
    await correct(naming_editor, REPUBLIC, "Puno")
    assert await ask(naming_editor, PERU, REPUBLIC) == ["Puno", "Puno"]
    await revert(naming_editor, 2)
    assert await ask(naming_editor, PERU, REPUBLIC) == ["Cusco", "Cusco"]


async def test_a_name_that_means_several_is_left_alone(naming_editor: Editor) -> None:
    await fact(naming_editor, "Peru", "alias", "Land of the Sun")
    await fact(naming_editor, "Japan", "alias", "Land of the Sun")
    await correct(naming_editor, PERU, "Cusco")
    (sun,) = await ask(naming_editor, "What is the capital of the Land of the Sun?")
    assert sun != "Cusco"
