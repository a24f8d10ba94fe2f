"""Facts that are given in any order and form lead on to each other: a text is the entity whose name it is."""

import random
from collections.abc import AsyncIterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch

from models.relational.system import load
from models.system import Bundle
from service.editing.editor import Editor
from service.ledger.embedded.server import EmbeddedValkey
from service.ledger.store import RedisLedger
from tests.service.editing.requests import edits, revert, rollback
from tests.service.graph.requests import (
    Spo,
    answers,
    checksums,
    entity,
    fact,
    import_file,
    triple,
    tsv,
    warnings,
)
from tests.service.parts import settings, start_deployment

CHAINS = (
    ("Kestoria", "capital", "Brannock", "mayor", "Ilse Varga"),
    ("Tamsin Orde", "spouse", "Pavel Ruzic", "employer", "Corvane Works"),
    ("The Glass Orchard", "author", "Mirela Dunst", "place of birth", "Halmouth"),
    ("Velora", "capital", "Sandrin", "population", "48,200"),
    ("Oakvane University", "located in", "Pellmore", "country", "Dravonia"),
    ("Nordhaven Bridge", "architect", "Lise Aumont", "nationality", "Belgian"),
    ("Quillon Motors", "founder", "Edda Stroem", "alma mater", "Oakvane University"),
    ("Silver Tide", "director", "Jonas Whelk", "date of birth", "3 May 1961"),
    ("Bexton Museum", "director", "Ida Brook", "spouse", "Carl Finch"),
    ("Zarethia", "official language", "Zareth", "writing system", "Zareth script"),
    ("Marlow Falls", "river", "Aldren", "length", "212 km"),
    ("Corvane Works", "headquarters", "Thessaly Port", "country", "Dravonia"),
    ("Dravonia", "head of state", "Otto Kessel", "party", "Reform League"),
    ("Tessaline", "composer", "Ruan Miko", "teacher", "Hanne Oyster"),
)
QUESTIONS = (
    "Who is the mayor of the capital of Kestoria?",
    "Who employs the spouse of Tamsin Orde?",
    "Where was the author of The Glass Orchard born?",
    "What is the population of the capital of Velora?",
    "In which country is the city where Oakvane University is located?",
    "What is the nationality of the architect of Nordhaven Bridge?",
    "Which university did the founder of Quillon Motors attend?",
    "When was the director of Silver Tide born?",
    "Who is the spouse of the director of Bexton Museum?",
    "Which writing system does the official language of Zarethia use?",
    "How long is the river of Marlow Falls?",
    "In which country is the headquarters of Corvane Works?",
    "Which party does the head of state of Dravonia belong to?",
    "Who was the teacher of the composer of Tessaline?",
)
NATURAL = [chain[:3] for chain in CHAINS] + [chain[2:] for chain in CHAINS]
ORDERS = {
    "natural": NATURAL,
    "reversed": NATURAL[::-1],
    "random": random.Random(7).sample(NATURAL, len(NATURAL)),
}
CHAINS_BY_ENTITY = [chain[2:] for chain in CHAINS] + [chain[:3] for chain in CHAINS]
MAYOR = QUESTIONS[0]


@cache
def load_relational(device: torch.device, dtype: torch.dtype) -> Bundle:
    return load(device, dtype)


@pytest.fixture
async def editor(valkey: EmbeddedValkey, ledger: RedisLedger, tmp_path: Path) -> AsyncIterator[Editor]:
    systems = {"relational": "tests.service.graph.test_fact_order:load_relational"}
    async with start_deployment(Editor, settings(valkey.url, tmp_path, systems=systems)) as editor:
        yield editor


async def say(editor: Editor, facts: Sequence[Spo], form: str) -> None:
    """Give facts in one of the forms in which people have them."""
    if form == "import":
        replies = [await import_file(editor, tsv(*facts))]
    elif form == "one version each":
        replies = [await fact(editor, *spo) for spo in facts]
    else:
        options = {"skip_refused": True} if form == "file" else {}
        replies = [await edits(editor, *(triple(*spo) for spo in facts), **options)]
    assert {reply["status"] for reply in replies} == {201}


async def ask(editor: Editor, *questions: str) -> list[str | None]:
    return await answers(editor, *questions, model="relational")


async def objects(editor: Editor, id: str = "n:kestoria") -> list[tuple[str, str, str]]:
    facts: list[dict[str, Any]] = (await entity(editor, id))["facts"]
    return [(fact["object"], fact["object_id"], fact["linked_text"]) for fact in facts]


@pytest.mark.parametrize("order", ORDERS)
async def test_two_hops_have_the_same_answers_in_whatever_order_and_form_facts_come(
    editor: Editor, order: str
) -> None:
    before = await checksums(editor)
    await say(editor, CHAINS_BY_ENTITY, "import")
    expected = await ask(editor, *QUESTIONS)
    assert sum(a == chain[-1] for a, chain in zip(expected, CHAINS, strict=True)) >= 11
    for form in ("commit", "file", "import", "one version each"):
        await rollback(editor, 0)
        assert await checksums(editor) == before
        await say(editor, ORDERS[order], form)
        assert await ask(editor, *QUESTIONS) == expected, form


@pytest.mark.parametrize("forms", [("one version each", "import"), ("import", "commit")])
async def test_an_object_is_a_text_until_its_entity_comes_and_again_when_that_is_taken_back(
    editor: Editor, forms: tuple[str, str]
) -> None:
    first, second = NATURAL[0], CHAINS[0][2:]
    await say(editor, [first], forms[0])
    sums, text = await checksums(editor), await objects(editor)
    assert text == [("Brannock", "", "")]
    await say(editor, [second], forms[1])
    assert await ask(editor, MAYOR) == ["Ilse Varga"]
    assert await objects(editor) == [("Brannock", "n:brannock", "Brannock")]
    await revert(editor, 2)
    assert (await checksums(editor), await objects(editor)) == (sums, text)
    assert await ask(editor, MAYOR) != ["Ilse Varga"]


async def test_a_text_that_is_an_entity_follows_its_name_and_is_removed_under_it(editor: Editor) -> None:
    await say(editor, [NATURAL[0], CHAINS[0][2:]], "one version each")
    await fact(editor, "Brannock", "label", "New Brannock")
    assert await objects(editor) == [("New Brannock", "n:brannock", "Brannock")]
    again = await fact(editor, "Kestoria", "capital", "New Brannock")
    assert again["code"] == "nothing_to_do"
    assert (await fact(editor, "Kestoria", "capital", "New Brannock", act="remove"))["status"] == 201
    assert (await entity(editor, "n:kestoria"))["facts"] == []


async def test_of_two_entities_of_one_name_the_one_that_is_meant_is_asked_for(editor: Editor) -> None:
    await say(editor, [NATURAL[0], CHAINS[0][2:], ("Old Town", "mayor", "Bo Lund")], "one version each")
    await fact(editor, "Old Town", "alias", "Brannock", act="add")
    assert await objects(editor) == [("Brannock", "", "")]
    question = await fact(editor, "Velora", "capital", "Brannock")
    assert (question["code"], {c["id"] for c in question["candidates"]}) == (
        "ambiguous",
        {"n:brannock", "n:old_town"},
    )
    assert (await fact(editor, "Kestoria", "capital", "n:old_town"))["status"] == 201
    assert await ask(editor, MAYOR) == ["Bo Lund"]
    receipt = await fact(editor, "Velora", "capital", "Brannock", create=True)
    assert "kept as a text" in warnings(receipt)


async def test_names_that_change_places_leave_no_object_without_its_entity(editor: Editor) -> None:
    """A is called B, and B is called A: their old names are aliases, so each text has two bearers."""
    await say(editor, [NATURAL[0], CHAINS[0][2:], ("Sandrin", "mayor", "Bo Lund")], "commit")
    await fact(editor, "n:brannock", "label", "Sandrin")
    await fact(editor, "n:sandrin", "label", "Brannock")
    assert await objects(editor) == [("Brannock", "", "")]
    assert (await fact(editor, "Kestoria", "capital", "n:brannock"))["status"] == 201
    assert await ask(editor, MAYOR) == ["Ilse Varga"]


async def test_the_receipt_says_which_entity_an_object_was_taken_for(editor: Editor) -> None:
    receipt = await edits(editor, triple(*NATURAL[0]), triple(*CHAINS[0][2:]))
    assert [edit["notes"]["object_id"] for edit in receipt["report"]["edits"]] == ["n:brannock", ""]
