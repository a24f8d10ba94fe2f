"""The lineage of edits, and the capacity of memories."""

import random
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import pytest

from service.editing.editor import Editor
from service.editing.operations import GetEdit, GetVersion, ListActiveEdits, ListReviews, PutReview
from tests.service.editing.conftest import StartEditor
from tests.service.editing.requests import FRANCE, JAPAN, PERU, change, check, diff, edits, head, item, revert
from tests.service.graph.requests import fact, import_file, tsv
from tests.service.parts import body_of
from tests.service.toy_graph import TOYS


async def room(editor: Editor, question: str) -> tuple[int, int, bool]:
    """Return slots used and reserved after one more edit, and whether there is a warning."""
    capacity = (await change(editor, question, "Cusco"))["report"]["capacity"]
    return capacity["slots_used"], capacity["slots_reserved"], bool(capacity["warnings"])


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"bank_slots": 3}, [(1, 3, False), (2, 3, False), (3, 3, True)]),
        (
            {"bank_slots": 1, "auto_grow_bank": True},
            [(1, 2, False), (2, 4, False), (3, 4, False), (4, 8, False)],
        ),
    ],
    ids=["scarce slots give a warning", "a bank that grows has room for all"],
)
async def test_slots_are_counted(
    start_editor: StartEditor, options: dict[str, Any], expected: list[tuple[int, int, bool]]
) -> None:
    async with start_editor(**options) as editor:
        questions = [PERU, FRANCE, JAPAN, "What is the capital of Chile?"][: len(expected)]
        assert [await room(editor, question) for question in questions] == expected


async def test_edits_that_do_not_fit_are_refused_whole_and_fit_after_a_revert(
    start_editor: StartEditor,
) -> None:
    async with start_editor(bank_slots=2) as editor:
        await change(editor, PERU, "Cusco")
        items = (item(FRANCE, "Lyon"), item(JAPAN, "Kyoto"))
        refused = await edits(editor, *items)
        assert (refused["status"], refused["code"]) == (409, "memory_full")
        assert (refused["used"], refused["slots"]) == (3, 2)
        assert await head(editor) == 1
        assert (await edits(editor, *items, dry_run=True))["report"]["capacity"]["slots_used"] == 3
        await revert(editor, 1)
        assert (await edits(editor, *items))["version"] == 3


async def test_taking_back_is_never_refused(start_editor: StartEditor) -> None:
    async with start_editor() as editor:
        await edits(editor, item(FRANCE, "Lyon"), item(JAPAN, "Kyoto"))
        await change(editor, PERU, "Cusco")
    async with start_editor(bank_slots=1) as editor:
        taken_back = await revert(editor, 2)
        assert taken_back["version"] == 3
        assert taken_back["report"]["capacity"]["warnings"][0].startswith(
            "2 slots are wanted and 1 are set aside"
        )


async def test_a_preview_reports_that_slots_run_out(start_editor: StartEditor) -> None:
    items = (item(PERU, "Cusco"), item(FRANCE, "Lyon"), item(JAPAN, "Kyoto"))
    async with start_editor(bank_slots=2) as editor:
        refused = await edits(editor, *items, dry_run=True, measure=False)
        assert (refused["code"], refused["used"], refused["slots"]) == ("memory_full", 3, 2)
        capacity = (await edits(editor, *items, dry_run=True))["report"]["capacity"]
        assert capacity["warnings"][0].startswith(
            "3 slots are wanted and 2 are set aside: start the service with more"
        )


async def test_in_a_preview_an_idle_edit_takes_no_slot(start_editor: StartEditor) -> None:
    async with start_editor(bank_slots=2) as editor:
        await edits(editor, item(PERU, "Cusco"), item(FRANCE, "Lyon"))
        items = (item(PERU, "Cusco"), item(FRANCE, "Lyon"), item(JAPAN, "Tokyo"))
        assert (await edits(editor, *items, dry_run=True, measure=False))["status"] == 200
        preview = await edits(editor, *items[:2], item(JAPAN, "Kyoto"), dry_run=True, measure=False)
        assert (preview["code"], preview["used"]) == ("memory_full", 3)


async def test_an_idle_dry_run_reports_the_capacity_as_it_is(editor: Editor) -> None:
    await change(editor, PERU, "Cusco")
    preview = await edits(editor, item(PERU, "Cusco"), dry_run=True)
    assert preview["report"]["capacity"]["slots_used"] == 1


RELATIONS, VALUES = ("motto", "anthem"), ("one", "two", "three")


@pytest.fixture
async def lineage_editor(start_editor: StartEditor) -> AsyncIterator[Editor]:
    async with start_editor(systems=TOYS) as lineage_editor:
        yield lineage_editor


async def change_at_random(lineage_editor: Editor, chance: random.Random) -> None:
    """Set, add, remove or import a value of a relation, or take a version back; some of it may be refused."""
    relation, value = chance.choice(RELATIONS), chance.choice(VALUES)
    kind = chance.choice(["set", "set", "add", "remove", "import", "revert"])
    if kind == "import":
        await import_file(lineage_editor, tsv(("Peru", relation, value)), subject="")
    elif kind == "revert":
        await revert(lineage_editor, chance.randint(1, max(1, await head(lineage_editor))))
    else:
        await fact(lineage_editor, "Peru", relation, value, act=kind)


@pytest.mark.parametrize("seed", range(4))
async def test_each_place_names_the_same_successor_of_a_fact(lineage_editor: Editor, seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(12):
        await change_at_random(lineage_editor, chance)
    tests = (await check(lineage_editor, superseded=True)).superseded_tests or []
    by_check = {test.edit: test.by_version for test in tests}
    active = body_of(await lineage_editor.call(ListActiveEdits()))["edits"]
    for edit in active:
        await lineage_editor.call(PutReview(edit["id"], datetime.now(UTC).date()))
    due_ids = {detail["edit"]["id"] for detail in body_of(await lineage_editor.call(ListReviews()))["edits"]}
    for id, version in {edit["id"]: edit["version"] for edit in active}.items():
        detail = body_of(await lineage_editor.call(GetEdit(id)))
        states = body_of(await lineage_editor.call(GetVersion(version)))["edits"]
        in_log = next(state["replaced_in"] for state in states if state["id"] == id)
        assert detail["replaced_in"] == in_log == by_check.get(id), detail["edit"]["notes"]
        assert (id in due_ids) == (in_log is None)


async def test_a_report_and_the_diff_of_its_versions_name_the_same_changes(lineage_editor: Editor) -> None:
    async def compare(version: int) -> None:
        report = body_of(await lineage_editor.call(GetVersion(version, wait_report=True)))["report"]
        difference = await diff(lineage_editor, version - 1, version)
        assert _effects(report["side_effects"]) == _effects(
            [effect.model_dump() for effect in difference.side_effects]
        )
        assert report["unmeasured_probes"] == difference.unmeasured_probes
        wordings = [wording for edit in report["edits"] for wording in (edit, *edit["paraphrases"])]
        changes = {(wording["question"], wording["before"], wording["after"]) for wording in wordings}
        assert {(c.question, c.before, c.after) for c in difference.changes} <= changes

    await change(lineage_editor, PERU, "Cusco", "Peru's capital?")
    await edits(lineage_editor, item(FRANCE, "Lyon"), item("Is Peru big?", "yes"))
    await fact(lineage_editor, "Peru", "capital", "Puno")
    for version in range(1, await head(lineage_editor) + 1):
        await compare(version)
    assert (await check(lineage_editor)).unmeasured_probes == (
        await diff(lineage_editor, 0, 3)
    ).unmeasured_probes


def _effects(effects: list[dict[str, Any]]) -> set[tuple[str, str | None, str | None, str]]:
    return {(e["question"], e["before"], e["after"], e["model"]) for e in effects}
