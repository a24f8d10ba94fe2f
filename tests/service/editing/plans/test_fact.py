"""A fact is one commit for every system that is served: the graph gets a triple, the others an answer."""

from typing import Any

import pytest

from service.editing.editor import Editor
from service.editing.operations import GetVersion
from service.editing.plans.fact_resolver import FactResolver
from service.ledger.store import RedisLedger
from tests.service.editing.conftest import StartEditor
from tests.service.editing.requests import (
    before_and_after,
    edits,
    head,
    item,
    revert,
    revert_edits,
    rollback,
)
from tests.service.graph.requests import (
    CAPITAL,
    GRAPH,
    NEIGHBOUR,
    TABLE,
    answers,
    checksums,
    define,
    entity,
    fact,
    search,
    triple,
    values,
    warnings,
)
from tests.service.parts import body_of
from tests.service.toy_graph import TOYS

OPTIONS = {"systems": TOYS}


async def ask_both(editor: Editor, question: str) -> list[str | None]:
    return [*(await answers(editor, question)), *(await answers(editor, question, model="toy"))]


async def test_a_change_of_the_graph_alone_reports_the_capacity_of_the_other_memory(editor: Editor) -> None:
    await fact(editor, "Peru", "capital", "Cusco")
    receipt = await fact(editor, "Peru", "capital", "Arequipa", only="graph")
    room = receipt["report"]["capacity"]
    assert (room["slots_used"], room["slots_reserved"]) == (1, 1_048_576)


@pytest.mark.parametrize("name", ["City of Kings", "Q2868", "lima", "LIMA"])
async def test_an_object_is_removed_under_any_of_its_names(editor: Editor, name: str) -> None:
    assert (await fact(editor, "Peru", "capital", name, act="remove"))["status"] == 201
    assert await values(editor, "Q419", "capital") == []


async def test_an_object_that_became_an_entity_after_it_was_written_is_removed(editor: Editor) -> None:
    """The object was written as a text."""
    await fact(editor, "Peru", "twin", "Atlantis")
    await fact(editor, "Atlantis", "capital", "Poseidonis")
    assert (await fact(editor, "Peru", "twin", "Atlantis"))["code"] == "nothing_to_do"
    assert (await fact(editor, "Peru", "twin", "Atlantis", act="remove"))["status"] == 201
    assert await values(editor, "Q419", "twin") == []


async def test_an_object_that_was_renamed_is_removed_under_its_new_name(editor: Editor) -> None:
    await fact(editor, "Lima", "label", "Ciudad de los Reyes")
    assert await answers(editor, CAPITAL) == ["Ciudad de los Reyes"]
    receipt = await fact(editor, "Peru", "capital", "Ciudad de los Reyes", act="remove")
    assert (receipt["status"], await values(editor, "Q419", "capital")) == (201, [])
    await revert(editor, 2)
    assert await answers(editor, CAPITAL) == ["Ciudad de los Reyes"]
    await revert(editor, 1)
    assert await answers(editor, CAPITAL) == ["Lima"]


@pytest.mark.parametrize("name", ["City of Kings", "lima", "Q2868", "Lima"])
async def test_one_entity_is_one_value_whatever_it_is_called(editor: Editor, name: str) -> None:
    receipt = await fact(editor, "Peru", "capital", name, act="add", only="graph")
    assert receipt["code"] == "nothing_to_do"


@pytest.mark.parametrize("name", ["Q419", "Peru", "peru", "PERU ", "Republic of  Peru", "Перу", "перу"])
async def test_a_subject_may_be_called_by_its_id_or_any_of_its_names(editor: Editor, name: str) -> None:
    receipt = await fact(editor, name, "capital", "Cusco")
    assert (receipt["status"], receipt["report"]["edits"][0]["warnings"]) == (201, [])
    assert await ask_both(editor, CAPITAL) == ["Cusco", "Cusco"]


async def test_a_new_entity_is_made_once_in_a_request_and_is_the_same_in_the_next(editor: Editor) -> None:
    receipt = await edits(
        editor,
        triple("Atlantis", "capital", "Poseidonis"),
        triple("ATLANTIS", "currency", "orichalcum"),
        triple("Atlantis", "shares_border_with", "Mu"),
    )
    atlantis = await entity(editor, "n:atlantis")
    assert (atlantis["label"], atlantis["degree"]) == ("Atlantis", 3)
    assert sum("it is a new one" in str(edit["warnings"]) for edit in receipt["report"]["edits"]) <= 2
    assert (await fact(editor, "Atlantis", "motto", "Sink"))["report"]["edits"][0]["warnings"] != []
    assert (await entity(editor, "n:atlantis"))["degree"] == 4


async def test_an_ambiguous_object_is_asked_about_and_kept_as_a_text_if_told_so(editor: Editor) -> None:
    question = await fact(editor, "Peru", "twin", "Georgia")
    assert (question["code"], {c["id"] for c in question["candidates"]}) == ("ambiguous", {"Q230", "Q1428"})
    receipt = await fact(editor, "Peru", "twin", "Georgia", create=True)
    assert "names several entities" in warnings(receipt)
    assert [
        fact["object_id"] for fact in (await entity(editor, "Q419"))["facts"] if fact["relation"] == "twin"
    ] == [""]


@pytest.mark.parametrize(
    "name", ["X", "é", "!", "?!", "\ufeff", "\u200c", "x" * 400]
)  # the wire refuses other invisible marks
async def test_an_alias_that_no_question_can_mention_is_refused(editor: Editor, name: str) -> None:
    refused = await fact(editor, "Peru", "alias", name)
    acceptable = name in ("!", "?!")
    assert (refused["status"] in (201, 422)) if acceptable else (refused["code"] == "invalid_input")
    assert acceptable or await head(editor) == 0


@pytest.mark.parametrize("place", ["subject", "relation", "object"])
@pytest.mark.parametrize("text", ["\u200d", "\ufeff", "a\u3000b", "@label", "@relation/capital"])
async def test_no_text_however_odd_breaks_the_editor(editor: Editor, place: str, text: str) -> None:
    refused = await edits(editor, {**triple("Peru", "motto", "Yes"), place: text})
    assert refused["status"] in (201, 409, 422), refused
    assert await ask_both(editor, CAPITAL) == ["Lima", "Lima"]
    if text == "@label" and place == "relation":
        assert refused["status"] == 422


@pytest.mark.parametrize(
    ("dates", "place", "detail"),
    [
        ({"begin": "2010", "end": "2005"}, "end", "is before its begin, 2010"),
        ({"begin": "2010-06", "end": "2010-05-31"}, "end", "is before its begin"),
        ({"time": "1975-13"}, "time", "the calendar has no 1975-13"),
    ],
)
async def test_a_period_that_cannot_be_is_refused(
    editor: Editor, dates: dict[str, str], place: str, detail: str
) -> None:
    refusal = await fact(editor, "Peru", "capital", "Cusco", **dates)
    assert (refusal["status"], refusal["field"]) == (422, f"edits.0.{place}")
    assert detail in refusal["detail"]
    receipt = await fact(editor, "Peru", "capital", "Cusco", begin="2010", end="2010-05", only="graph")
    assert receipt["status"] == 201, receipt
    refusal = await fact(editor, "Peru", "capital", "Cusco", begin="2011", act="add", only="graph")
    assert refusal["field"] == "edits.0.end", refusal


async def test_a_one_letter_subject_is_an_entity_that_stands_alone(editor: Editor) -> None:
    assert (await fact(editor, "X", "capital", "Y", only="graph"))["status"] == 201
    assert await values(editor, "n:x", "capital") == ["Y"]


async def test_what_a_request_says_of_a_relation_holds_for_the_facts_after_it(editor: Editor) -> None:
    await edits(editor, {"define": "motto", "holds": "one"}, triple("Peru", "motto", "First"))
    assert (await edits(editor, {"define": "hymn", "holds": "one"}, triple("Peru", "hymn", "Old")))[
        "version"
    ] == 2
    await edits(editor, {"define": "hymn", "holds": "many"}, triple("Peru", "hymn", "New"))
    assert await values(editor, "Q419", "hymn") == ["Old", "New"]


async def test_a_definition_that_changes_nothing_is_refused(editor: Editor) -> None:
    for definition in ({"holds": "one"}, {"label": "capital"}, {"holds": "one", "label": "capital"}):
        assert (await define(editor, "capital", **definition))["code"] == "nothing_to_do"
    assert (await define(editor, "label", holds="many"))["status"] == 422
    assert (await define(editor, "@holds", holds="many"))["status"] == 422


@pytest.mark.parametrize(
    "items",
    [
        [triple("Peru", "capital", "Cusco"), triple("Peru", "capital", "Puno")],
        [triple("Peru", "capital", "Cusco"), triple("Q419", "capital", "Puno", act="set")],
        [triple("Peru", "motto", "One", act="set"), triple("Peru", "motto", "Two", act="set")],
        [triple("Peru", "label", "Perú"), triple("Q419", "label", "Birú")],
        [triple("Peru", "capital", "Cusco"), item(CAPITAL, "Puno")],
        [{"define": "motto", "holds": "one"}, {"define": "motto", "holds": "many"}],
    ],
)
async def test_contradicting_edits_are_refused_whole(editor: Editor, items: list[dict[str, Any]]) -> None:
    before = await checksums(editor)
    refused = await edits(editor, *items)
    assert (refused["status"], refused["code"]) == (422, "invalid_input"), refused
    assert "edits.0 and edits.1" in refused["detail"]
    assert (await head(editor), await checksums(editor)) == (0, before)


async def test_namesakes_do_not_contradict_each_other(editor: Editor) -> None:
    capitals = {"Q230": "Kutaisi", "Q1428": "Savannah"}
    triples = [triple(id, "capital", city, only="graph") for id, city in capitals.items()]
    assert (await edits(editor, *triples))["status"] == 201
    assert {id: await values(editor, id, "capital") for id in capitals} == {
        id: [city] for id, city in capitals.items()
    }


async def test_several_values_are_added_in_one_request_and_make_one_answer(
    editor: Editor, ledger: RedisLedger
) -> None:
    names = ("Bolivia", "Argentina", "Chubut")
    receipt = await edits(editor, *(triple("Chile", "shares_border_with", name) for name in names))
    assert await ask_both(editor, NEIGHBOUR) == ["Argentina, Bolivia, Chubut, Peru"] * 2
    assert all(edit["holds"] for edit in receipt["report"]["edits"])
    records = (await ledger.get(1)).edits
    assert [record.model for record in records].count("toy") == 1, "the table is told the last answer only"


async def test_a_fact_removed_and_added_in_one_request_is_there(editor: Editor) -> None:
    await edits(
        editor,
        triple("Chile", "shares_border_with", "Peru", act="remove"),
        triple("Chile", "shares_border_with", "Peru"),
    )
    assert await values(editor, "Q298", "shares_border_with") == ["Peru"]
    assert await answers(editor, NEIGHBOUR) == ["Peru"]
    twice = [triple("Chile", "shares_border_with", "Peru", act="remove")] * 2
    assert (await edits(editor, *twice))["code"] == "nothing_to_do"
    assert await values(editor, "Q298", "shares_border_with") == ["Peru"]


async def test_a_known_fact_is_idle_and_does_not_hold_others_back(
    editor: Editor, ledger: RedisLedger
) -> None:
    assert (await fact(editor, "Peru", "capital", "Lima", only="graph"))["code"] == "nothing_to_do"
    same_fact = triple("Peru", "capital", "Lima", only="graph")
    receipt = await edits(editor, same_fact, triple("Japan", "capital", "Kyoto"), same_fact)
    assert [edit.answer for edit in (await ledger.get(1)).edits] == ["Kyoto", "Kyoto"]
    assert [edit["id"] != "" for edit in receipt["report"]["edits"]] == [False, True, True, False]


async def test_each_system_gets_only_facts_that_are_new_to_it(editor: Editor, ledger: RedisLedger) -> None:
    await edits(editor, item(CAPITAL, "Cusco", "Peru's capital?"))
    await fact(editor, "Peru", "capital", "Cusco")
    assert set((await ledger.get(2)).writes) == {GRAPH}
    await fact(editor, "Japan", "capital", "Kyoto", only="graph")
    await fact(editor, "Japan", "capital", "Kyoto")
    assert set((await ledger.get(4)).writes) == {TABLE}


async def test_a_dry_run_measures_both_systems_and_changes_neither(editor: Editor) -> None:
    before = await checksums(editor)
    receipt = await fact(editor, "Atlantis", "capital", "Poseidonis", dry_run=True)
    assert (receipt["status"], receipt["version"]) == (200, None)
    assert [edit["after"] for edit in receipt["report"]["edits"]] == ["Poseidonis", "Poseidonis"]
    assert (await head(editor), await checksums(editor)) == (0, before)
    assert (await entity(editor, "n:atlantis"))["status"] == 404
    again = await fact(editor, "Atlantis", "capital", "Poseidonis")
    assert again["version"] == 1
    assert "it is a new one" in warnings(again)


@pytest.mark.parametrize(
    "items",
    [
        [triple("Peru", "capital", "unreachable")],
        [triple("Japan", "capital", "Kyoto"), triple("Peru", "capital", "unreachable")],
        [triple("Japan", "capital", "Kyoto"), item(CAPITAL, "unreachable")],
        [triple("Japan", "capital", "Kyoto"), triple("Peru", "capital", "x" * 300)],
    ],
)
async def test_a_fact_that_one_system_refuses_is_written_to_none(
    editor: Editor, items: list[dict[str, Any]]
) -> None:
    before = await checksums(editor)
    assert (await edits(editor, *items))["code"] == "edit_refused"
    assert (await head(editor), await checksums(editor)) == (0, before)
    assert (await fact(editor, "Peru", "capital", "unreachable", only="graph"))["status"] == 201


@pytest.mark.parametrize("size", [1, 3], ids=["a request for each", "one request"])
async def test_an_entity_keeps_its_name_as_long_as_an_edit_says_something_of_it(
    editor: Editor, size: int
) -> None:
    """The edit that defined it may be taken back, and only its own value goes."""
    pairs = ("capital", "Poseidonis"), ("motto", "Sink"), ("currency", "orichalcum")
    facts = [triple("Atlantis", relation, value, only="graph") for relation, value in pairs]
    for start in range(0, 3, size):
        assert (await edits(editor, *facts[start : start + size]))["status"] == 201
    last = await head(editor)
    ids = [
        edit["id"]
        for version in range(1, last + 1)
        for edit in body_of(await editor.call(GetVersion(version, True)))["edits"]
    ]
    for n_taken_back, id in enumerate(ids[:2], 1):
        receipt = await revert_edits(editor, id)
        assert (receipt["status"], receipt["report"]["broken_tests"]) == (201, [])
        atlantis = await entity(editor, "n:atlantis")
        rest = [value for _, value in pairs[n_taken_back:]]
        assert (atlantis["label"], [f["object"] for f in atlantis["facts"]]) == ("Atlantis", rest)
        assert await search(editor, "atlan") == ["n:atlantis"]
        assert await answers(editor, "What is the currency of Atlantis?") == ["orichalcum"]
    await revert_edits(editor, ids[2])
    assert (await entity(editor, "n:atlantis"))["status"] == 404
    await rollback(editor, last)
    assert (await entity(editor, "n:atlantis"))["label"] == "Atlantis"


async def test_a_newer_name_of_an_entity_is_taken_back_although_later_facts_say_it(editor: Editor) -> None:
    await fact(editor, "Atlantis", "capital", "Poseidonis", only="graph")
    await fact(editor, "Mu", "shares_border_with", "Atlantis", only="graph")
    await fact(editor, "Atlantis", "label", "Sunken Land")
    await fact(editor, "Atlantis", "currency", "orichalcum", only="graph")
    await revert(editor, 3)
    assert (await entity(editor, "n:atlantis"))["label"] == "Atlantis"
    assert await values(editor, "n:mu", "shares_border_with") == ["Atlantis"]


async def test_taking_a_replaced_fact_back_says_what_the_graph_says_now_and_then(editor: Editor) -> None:
    await define(editor, "director", holds="one")
    for name in ("Noor Halim", "Lea Sommer", "Ana Petrova"):
        await fact(editor, "Kestrel Mill", "director", name)
    names = "Ana Petrova", "Ana Petrova"
    assert before_and_after(await revert(editor, 2, dry_run=True)) == [names]
    assert before_and_after(await revert(editor, 4, dry_run=True)) == [("Ana Petrova", "Lea Sommer")]
    await revert(editor, 4)
    assert before_and_after(await revert(editor, 5, dry_run=True)) == [("Lea Sommer", "Ana Petrova")]
    assert before_and_after(await rollback(editor, 1, dry_run=True)) == [("Lea Sommer", None)] * 2


async def test_a_revert_warns_where_facts_of_former_releases_stay_without_a_name(
    editor: Editor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Facts of former releases do not say what their entity is called."""
    monkeypatch.setattr(FactResolver, "is_defined_by_edits", lambda self, subject: False)
    await fact(editor, "Atlantis", "capital", "Poseidonis", only="graph")
    await fact(editor, "Atlantis", "currency", "orichalcum", only="graph")
    receipt = await revert(editor, 1, dry_run=True)
    assert "Atlantis has no name any more" in warnings(receipt)
    assert "1 fact of it stays under n:atlantis" in warnings(receipt)


async def test_facts_may_refer_to_their_own_subject_and_in_a_circle(editor: Editor) -> None:
    await edits(editor, triple("Lima", "capital", "Lima"), triple("Tokyo", "capital", "Lima"))
    await fact(editor, "Lima", "shares_border_with", "Tokyo")
    await fact(editor, "Tokyo", "shares_border_with", "Lima")
    assert await answers(editor, "What is the capital of Lima?", "Tokyo's neighbour?") == ["Lima", "Lima"]


async def test_without_a_system_that_reads_the_graph_no_triple_is_taken(start_editor: StartEditor) -> None:
    async with start_editor() as plain:
        refused = await fact(plain, "Peru", "capital", "Cusco")
        assert (refused["status"], refused["code"]) == (404, "unknown_model")
        assert (await entity(plain, "Q419"))["code"] == "unknown_model"


async def test_a_fact_after_a_refused_one_of_a_new_entity_names_the_entity_itself(editor: Editor) -> None:
    """Its rows are built again for the draft without the refused fact, which brought the name."""
    refused = triple("Zed", "capital", "unreachable", act="set")  # the toy cannot give this answer
    receipt = await edits(
        editor, refused, triple("Zed", "currency", "zed dollar", only="graph"), skip_refused=True
    )
    assert [edit["place"] for edit in receipt["report"]["refused"]] == [0]
    assert (await entity(editor, "n:zed"))["label"] == "Zed"
    assert await answers(editor, "What is the currency of Zed?") == ["zed dollar"]


async def test_a_system_that_reads_the_graph_and_a_table_gets_a_fact_into_both(
    start_editor: StartEditor,
) -> None:
    systems = {"hybrid": "tests.service.toy_graph:load_hybrid"}
    async with start_editor(systems=systems) as editor:
        receipt = await fact(editor, "Peru", "capital", "Cusco")
        assert sorted(edit["memory"] for edit in receipt["report"]["edits"]) == [GRAPH, TABLE]
        assert await answers(editor, CAPITAL, model="hybrid") == ["Cusco"]
        assert await values(editor, "Q419", "capital") == ["Cusco"]
        await revert(editor, receipt["version"])
        assert await answers(editor, CAPITAL, model="hybrid") == ["Lima"]


async def test_systems_that_share_a_memory_are_edited_once_and_both_answer(start_editor: StartEditor) -> None:
    toy = "tests.service.toy:load_toy"
    async with start_editor(systems={"toy": toy, "twin": toy}) as editor:
        receipt = await edits(editor, item("What is the capital of Peru?", "Cusco"))
        assert await answers(editor, "What is the capital of Peru?", model="toy") == ["Cusco"]
        assert await answers(editor, "What is the capital of Peru?", model="twin") == ["Cusco"]
        assert receipt["report"]["capacity"]["slots_used"] == 1
