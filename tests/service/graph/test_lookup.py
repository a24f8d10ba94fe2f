"""Questions get the facts of their words at their own version, and no question fails because of another."""

import gc
from itertools import count
from unicodedata import normalize

import pytest

from models.graph.blocks import statements_block
from models.graph.memory import GraphMemory
from models.graph.statement import ALIAS, LABEL, Statement
from models.graph.view import GraphView
from models.memory import Material
from models.system import Ask
from service.errors import LedgerUnavailable
from service.graph import lookup as module
from service.graph.lookup import Lookup
from service.graph.rows import Rows
from service.ledger.store import RedisLedger
from tests.service.toy_graph import base


@pytest.fixture
def memory() -> GraphMemory:
    return GraphMemory(base())


@pytest.fixture
def lookup(ledger: RedisLedger) -> Lookup:
    return Lookup(Rows(ledger.connection))


NUMBERS = count()  # of edits, so that no two have one id


async def view(lookup: Lookup, memory: GraphMemory, *edits: dict[str, tuple[Statement, ...]]) -> GraphView:
    blocks = [statements_block(f"edit/e{next(NUMBERS)}", n, edit) for n, edit in enumerate(edits)]
    new_view = memory.view(
        memory.fold([Material(block.key.removeprefix("edit/"), "triple", block) for block in blocks])
    )
    await lookup.prepare(new_view)
    return new_view


async def mentions(lookup: Lookup, question: str, at: GraphView) -> list[tuple[str, list[str]]]:
    [ask] = (await lookup.retrieve_facts([Ask(question)], [at])).asks
    assert isinstance(ask, Ask)
    return [(question[m.start : m.end], [entity.id for entity in m.entities]) for m in ask.mentions]


async def test_names_are_found_where_they_stand(lookup: Lookup, memory: GraphMemory) -> None:
    at = await view(lookup, memory)
    assert await mentions(lookup, "Is Lima in PERU, or Georgia?", at) == [
        ("Lima", ["Q2868"]),
        ("PERU", ["Q419"]),
        ("Georgia", ["Q230", "Q1428"]),
    ]
    assert await mentions(lookup, "日本の首都は東京ですか", at) == [("日本", ["Q17"]), ("東京", ["Q1490"])]


async def test_edits_that_no_view_has_are_forgotten_and_found_again_when_they_come_back(
    lookup: Lookup, memory: GraphMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lookup, "_prune_at", 3)
    monkeypatch.setattr(module, "MANY_EDITS", 3)
    for number in range(20):
        at = await view(lookup, memory, {f"x:{number}": (Statement(LABEL, f"Ship {number}"),)})
        assert await mentions(lookup, f"Where is Ship {number}?", at) == [(f"Ship {number}", [f"x:{number}"])]
    del at
    gc.collect()
    at = await view(lookup, memory, {"x:0": (Statement(LABEL, "Ship 0"),)})
    assert len(lookup._linked_edits) < 10
    assert await mentions(lookup, "Where is Ship 0?", at) == [("Ship 0", ["x:0"])]


async def test_a_name_means_what_it_means_at_the_version_that_is_asked(
    lookup: Lookup, memory: GraphMemory
) -> None:
    """One linker holds the names of all versions; a longer name of another version does not hide a valid one."""
    old = await view(lookup, memory)
    new = await view(
        lookup,
        memory,
        {"n:lima_peru": (Statement(LABEL, "Lima Peru"),), "Q2868": (Statement(LABEL, "Ciudad", "", "set"),)},
    )
    assert await mentions(lookup, "Where is Lima Peru?", old) == [("Lima", ["Q2868"]), ("Peru", ["Q419"])]
    assert await mentions(lookup, "Where is Lima Peru?", new) == [("Lima Peru", ["n:lima_peru"])]
    assert await mentions(lookup, "Where is Lima, or Ciudad?", new) == [("Ciudad", ["Q2868"])]
    batch = await lookup.retrieve_facts([Ask("Where is Lima?")] * 2, [old, new])
    assert [len(ask.mentions) for ask in batch.asks if isinstance(ask, Ask)] == [1, 0]


async def test_the_longer_name_is_read_however_the_question_is_spelt(
    lookup: Lookup, memory: GraphMemory
) -> None:
    names = {"n:short": (Statement(LABEL, "éé bb"),), "n:long": (Statement(LABEL, "bb cccc"),)}
    at = await view(lookup, memory, names)
    assert await mentions(lookup, normalize("NFD", "éé bb cccc"), at) == [("bb cccc", ["n:long"])]


async def test_a_question_that_wants_no_graph_gets_none(lookup: Lookup, memory: GraphMemory) -> None:
    at = await view(lookup, memory)
    [ask] = (await lookup.retrieve_facts([Ask("Peru?", use_graph=False)], [at])).asks
    assert isinstance(ask, Ask)
    assert ask.mentions == ()


@pytest.mark.parametrize("question", ["", " ", "?", "\u2060", "é", "X" * 2_000, "Peru " * 400, "\ud7ff\x00"])
async def test_no_question_is_too_odd(lookup: Lookup, memory: GraphMemory, question: str) -> None:
    at = await view(lookup, memory)
    assert len(await mentions(lookup, question, at)) == question.count("Peru")


async def test_a_view_that_was_read_very_much_goes_on_being_read(
    lookup: Lookup, memory: GraphMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cached entities are dropped when there are too many, also while a reader uses the view."""
    monkeypatch.setattr(module, "MAX_CACHED", 2)
    at = await view(lookup, memory)
    for _ in range(3):
        for ids in (["Q419", "Q298", "Q142"], ["Q419", "Q17"], ["Q419", "Q90", "Q17"]):
            entities = await lookup.entities(ids, at)
            assert {id: e.id for id, e in entities.items() if e} == dict(zip(ids, ids, strict=True))
    assert await mentions(lookup, "Peru Chile France Japan Lima", at) != []


async def test_names_that_cannot_be_read_anew_stay_as_they_are(
    lookup: Lookup, memory: GraphMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = await view(lookup, memory, {"Q419": (Statement(ALIAS, "Birú"),)})

    async def fail(self: Lookup, view: GraphView) -> None:
        raise LedgerUnavailable("gone")

    monkeypatch.setattr(Lookup, "prepare", fail)
    with pytest.raises(LedgerUnavailable):
        await lookup.drop_names("e0")
    assert await mentions(lookup, "Birú?", at) == [("Birú", ["Q419"])]


async def test_names_of_an_edit_are_linked_once_and_stay_for_the_versions_that_have_them(
    lookup: Lookup, memory: GraphMemory
) -> None:
    edit = {"Q419": (Statement(ALIAS, "Birú"),)}
    new = await view(lookup, memory, edit)
    size = len(lookup.linker)
    await lookup.prepare(new)
    old = await view(lookup, memory)
    assert len(lookup.linker) == size
    assert await mentions(lookup, "Birú?", old) == []
    assert await mentions(lookup, "Birú?", new) == [("Birú", ["Q419"])]
