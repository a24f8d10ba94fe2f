"""Entities are found at any version by their names there, and each fact names the version that added it."""

from collections.abc import ValuesView
from dataclasses import replace

import pytest
from errata.wire import EntityList, EntityState

from service.editing.editor import Editor
from service.editing.operations import FindEntities, GetEntity
from service.ledger.commit import EditRecord
from tests.service.editing.requests import edits, revert, rollback
from tests.service.graph.requests import define, entity, fact, import_file, search, triple, tsv, values
from tests.service.toy_graph import TOYS

OPTIONS = {"systems": TOYS}


async def dates(editor: Editor, id: str, relation: str, version: int | None = None) -> list[tuple[str, int]]:
    state = await entity(editor, id, version)
    return [(fact["object"], fact["added_in"]) for fact in state["facts"] if fact["relation"] == relation]


async def removed_values(editor: Editor, id: str, version: int | None = None) -> list[tuple[str, int, int]]:
    state = await entity(editor, id, version)
    return [(fact["object"], fact["added_in"], fact["removed_in"]) for fact in state["removed_facts"]]


async def test_a_search_says_which_entities_the_text_names(editor: Editor) -> None:
    await import_file(editor, tsv(("Île–Vert", "capital", "Oz"), ("Île–Vert Bridge", "capital", "Oz")))
    for text, ids in (("Ile-Vert", ["n:île-vert"]), ("Ile", []), ("Georgia", ["Q1428", "Q230"])):
        page = EntityList.model_validate_json((await editor.call(FindEntities(text, 5, None))).body)
        assert sorted(page.bearers) == ids


async def test_an_answer_is_what_the_wire_promises(editor: Editor) -> None:
    await fact(editor, "Peru", "capital", "Cusco")
    peru = EntityState.model_validate_json((await editor.call(GetEntity("Q419", None))).body)
    assert (peru.label, peru.version, peru.degree, len(peru.facts)) == ("Peru", 1, 2, 2)
    heads = EntityList.model_validate_json((await editor.call(FindEntities("Peru", 5, None))).body)
    assert [(head.id, head.degree) for head in heads.entities] == [("Q419", 2)]


@pytest.mark.parametrize(
    ("prefix", "first"),
    [
        ("Peru", "Q419"), ("per", "Q419"), ("PER", "Q419"), ("of peru", "Q419"), ("Пер", "Q419"), ("пеРУ", "Q419"),
        ("日", "Q17"), ("東", "Q1490"), ("cuz", "Q5582862"), ("City of K", "Q2868"), ("  Lima ", "Q2868"),
    ],
)  # fmt: skip
async def test_an_entity_is_found_by_how_a_name_begins(editor: Editor, prefix: str, first: str) -> None:
    assert (await search(editor, prefix))[:1] == [first]


@pytest.mark.parametrize("prefix", ["", " ", "eru", "\u2060", "Zzz", "%", "*", "\\", "Q419", "\x00", "'"])
async def test_a_prefix_of_no_name_finds_nothing(editor: Editor, prefix: str) -> None:
    assert await search(editor, prefix) == []


async def test_namesakes_are_both_found_and_the_limit_is_kept(editor: Editor) -> None:
    assert sorted(await search(editor, "Georgia")) == ["Q1428", "Q230"]
    assert len(await search(editor, "Georgia", limit=1)) == 1


async def test_a_name_is_found_at_the_versions_that_have_it_and_at_no_other(editor: Editor) -> None:
    await fact(editor, "Peru", "alias", "Birú")
    await fact(editor, "Peru", "label", "Piruw")
    await revert(editor, 1)
    assert [await search(editor, "Birú", version=version) for version in range(4)] == [
        [],
        ["Q419"],
        ["Q419"],
        [],
    ]
    assert [await search(editor, "Piruw", version=version) for version in range(4)] == [
        [],
        [],
        ["Q419"],
        ["Q419"],
    ]
    assert await search(editor, "Peru", version=1) == ["Q419"]


async def test_removed_names_do_not_crowd_out_present_ones(editor: Editor) -> None:
    names = [f"Pe{chr(97 + n // 26)}{chr(97 + n % 26)}" for n in range(200)]
    await import_file(editor, tsv(*((name, "motto", "x") for name in names)))
    await revert(editor, 1)
    assert await search(editor, "Pe", limit=2) == ["Q419"]


async def test_values_name_the_versions_that_added_and_removed_them(editor: Editor) -> None:
    await fact(editor, "Peru", "capital", "Cusco")
    await fact(editor, "Peru", "capital", "Puno")
    assert await dates(editor, "Q419", "capital") == [("Puno", 2)]
    assert await removed_values(editor, "Q419") == [("Cusco", 1, 2), ("Lima", 0, 1)]
    assert await removed_values(editor, "Q419", 1) == [("Lima", 0, 1)]
    assert await dates(editor, "Q419", "currency") == [("sol", 0)]
    await revert(editor, 2)
    assert (await dates(editor, "Q419", "capital"), await removed_values(editor, "Q419")) == (
        [("Cusco", 3)],
        [("Puno", 2, 3), ("Cusco", 1, 2), ("Lima", 0, 1)],
    )
    await revert(editor, 3)
    assert (await dates(editor, "Q419", "capital"), await removed_values(editor, "Q419")) == (
        [("Puno", 4)],
        [("Cusco", 3, 4), ("Puno", 2, 3), ("Cusco", 1, 2), ("Lima", 0, 1)],
    )
    await rollback(editor, 0)
    assert (await dates(editor, "Q419", "capital"), await removed_values(editor, "Q419")) == (
        [("Lima", 5)],
        [("Puno", 4, 5), ("Cusco", 3, 4), ("Puno", 2, 3), ("Cusco", 1, 2), ("Lima", 0, 1)],
    )
    for version, capital in enumerate(["Lima", "Cusco", "Puno", "Cusco", "Puno", "Lima"]):
        assert await values(editor, "Q419", "capital", version) == [capital]


async def test_imported_facts_name_the_versions_of_import_and_revert(editor: Editor) -> None:
    await fact(editor, "Peru", "shares_border_with", "Chile")
    await import_file(editor, tsv(("Peru", "shares_border_with", "Bolivia"), ("Peru", "capital", "Cusco")))
    assert await dates(editor, "Q419", "shares_border_with") == [("Chile", 1), ("Bolivia", 2)]
    assert await dates(editor, "Q419", "capital") == [("Cusco", 2)]
    await revert(editor, 2)
    assert await dates(editor, "Q419", "capital") == [("Lima", 3)]
    assert await removed_values(editor, "Q419") == [
        ("Cusco", 2, 3),
        ("Bolivia", 2, 3),
        ("Lima", 0, 2),
    ]
    await revert(editor, 3)
    assert await dates(editor, "Q419", "shares_border_with") == [("Chile", 1), ("Bolivia", 4)]


async def test_a_value_whose_name_changed_is_as_old_as_it_was(editor: Editor) -> None:
    await fact(editor, "Chile", "shares_border_with", "Japan")
    await fact(editor, "Japan", "label", "Nippon")
    assert await dates(editor, "Q298", "shares_border_with") == [("Peru", 0), ("Nippon", 1)]
    await fact(editor, "Chile", "shares_border_with", "Nippon", act="remove")
    assert [(added_in, removed_in) for _, added_in, removed_in in await removed_values(editor, "Q298")] == [
        (1, 3)
    ]


async def test_a_fact_says_which_edit_it_rests_on(editor: Editor) -> None:
    receipt = await fact(editor, "Peru", "capital", "Cusco")
    edit_id = receipt["report"]["edits"][0]["id"]
    edit_by_relation = {fact["relation"]: fact["edit"] for fact in (await entity(editor, "Q419"))["facts"]}
    assert edit_by_relation == {"capital": edit_id, "currency": ""}


async def test_facts_about_one_entity_in_one_request_have_one_date(editor: Editor) -> None:
    await edits(editor, triple("Mu", "capital", "A", only="graph"), triple("Mu", "motto", "B", only="graph"))
    assert [fact["added_in"] for fact in (await entity(editor, "n:mu"))["facts"]] == [1, 1]


@pytest.mark.parametrize(
    "id", ["Q1", "", "n:", "peru", "@relation/capital", "@label", "q419", "Q419 ", "x" * 2_000]
)
async def test_an_unknown_entity_is_not_found(editor: Editor, id: str) -> None:
    await define(editor, "capital", holds="many")
    assert ((await entity(editor, id))["status"], (await entity(editor, id, 0))["code"]) == (404, "not_found")


async def test_a_version_that_is_not_there_is_not_found(editor: Editor) -> None:
    for reply in (await entity(editor, "Q419", 7), await entity(editor, "Q1", 7)):
        assert (reply["status"], reply["head"]) == (404, 0)


async def test_an_entity_of_very_many_facts_is_listed_in_part_and_edited_whole(editor: Editor) -> None:
    facts = [("Hub", "links", f"page {n}") for n in range(3_000)]
    await import_file(editor, tsv(*facts))
    hub = await entity(editor, "n:hub")
    assert (hub["degree"], len(hub["facts"]) + hub["facts_left_out"]) == (3_000, 3_000)
    assert (await fact(editor, "Hub", "links", "page 2999"))["code"] == "nothing_to_do"
    assert (await fact(editor, "Hub", "links", "page 2999", act="remove"))["status"] == 201
    assert (await entity(editor, "n:hub"))["degree"] == 2_999
    await fact(editor, "Hub", "motto", "Home")
    await revert(editor, 1)
    hub = await entity(editor, "n:hub")
    assert len(hub["removed_facts"]) + hub["removed_facts_left_out"] == 3_000


async def test_each_time_that_a_value_was_said_is_kept_although_it_is_said_again(editor: Editor) -> None:
    await define(editor, "director", holds="one")
    for name in ("Noor", "Lea"):
        await fact(editor, "Mill", "director", name)
    await revert(editor, 3)
    await fact(editor, "Mill", "director", "Ana")
    await revert(editor, 5)
    assert await dates(editor, "n:mill", "director") == [("Noor", 6)]
    assert await removed_values(editor, "n:mill") == [
        ("Ana", 5, 6),
        ("Noor", 4, 5),
        ("Lea", 3, 4),
        ("Noor", 2, 3),
    ]


async def test_many_looks_at_one_version_pass_over_all_edits_once(editor: Editor) -> None:
    passes = 0

    class Edits(dict[str, EditRecord]):
        def values(self) -> ValuesView[str, EditRecord]:  # type: ignore[override, type-arg]
            nonlocal passes
            passes += 1
            return super().values()

    await fact(editor, "Peru", "capital", "Cusco")
    state = editor.pipeline.state
    assert state is not None
    editor.pipeline.state = replace(state, edits=Edits(state.edits))
    for _ in range(3):
        assert await dates(editor, "Q419", "capital") == [("Cusco", 1)]
    assert passes == 1
