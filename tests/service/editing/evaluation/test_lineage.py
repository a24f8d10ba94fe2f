"""The log, an edit, the worklist and the check name the same successor; a report and a diff name the same changes."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import pytest

from service.editing.editor import Editor
from service.editing.operations import GetEdit, GetVersion, ListActiveEdits, ListReviews, PutReview
from tests.service.editing.conftest import StartEditor
from tests.service.editing.requests import FRANCE, PERU, change, check, diff, edits, head, item, revert
from tests.service.graph.requests import fact, import_file, tsv
from tests.service.parts import body_of
from tests.service.toy_graph import TOYS

RELATIONS, VALUES = ("motto", "anthem"), ("one", "two", "three")


@pytest.fixture
async def editor(start_editor: StartEditor) -> AsyncIterator[Editor]:
    async with start_editor(systems=TOYS) as editor:
        yield editor


async def change_at_random(editor: Editor, chance: random.Random) -> None:
    """Set, add, remove or import a value of a relation, or take a version back; some of it may be refused."""
    relation, value = chance.choice(RELATIONS), chance.choice(VALUES)
    kind = chance.choice(["set", "set", "add", "remove", "import", "revert"])
    if kind == "import":
        await import_file(editor, tsv(("Peru", relation, value)), subject="")
    elif kind == "revert":
        await revert(editor, chance.randint(1, max(1, await head(editor))))
    else:
        await fact(editor, "Peru", relation, value, act=kind)


@pytest.mark.parametrize("seed", range(4))
async def test_each_place_names_the_same_successor_of_a_fact(editor: Editor, seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(12):
        await change_at_random(editor, chance)
    tests = (await check(editor, superseded=True)).superseded_tests or []
    by_check = {test.edit: test.by_version for test in tests}
    active = body_of(await editor.call(ListActiveEdits()))["edits"]
    for edit in active:
        await editor.call(PutReview(edit["id"], datetime.now(UTC).date()))
    due_ids = {detail["edit"]["id"] for detail in body_of(await editor.call(ListReviews()))["edits"]}
    for id, version in {edit["id"]: edit["version"] for edit in active}.items():
        detail = body_of(await editor.call(GetEdit(id)))
        states = body_of(await editor.call(GetVersion(version)))["edits"]
        in_log = next(state["replaced_in"] for state in states if state["id"] == id)
        assert detail["replaced_in"] == in_log == by_check.get(id), detail["edit"]["notes"]
        assert (id in due_ids) == (in_log is None)


async def test_a_report_and_the_diff_of_its_versions_name_the_same_changes(editor: Editor) -> None:
    async def compare(version: int) -> None:
        report = body_of(await editor.call(GetVersion(version, wait_report=True)))["report"]
        difference = await diff(editor, version - 1, version)
        assert _effects(report["side_effects"]) == _effects(
            [effect.model_dump() for effect in difference.side_effects]
        )
        assert report["unmeasured_probes"] == difference.unmeasured_probes
        wordings = [wording for edit in report["edits"] for wording in (edit, *edit["paraphrases"])]
        changes = {(wording["question"], wording["before"], wording["after"]) for wording in wordings}
        assert {(c.question, c.before, c.after) for c in difference.changes} <= changes

    await change(editor, PERU, "Cusco", "Peru's capital?")
    await edits(editor, item(FRANCE, "Lyon"), item("Is Peru big?", "yes"))
    await fact(editor, "Peru", "capital", "Puno")
    for version in range(1, await head(editor) + 1):
        await compare(version)
    assert (await check(editor)).unmeasured_probes == (await diff(editor, 0, 3)).unmeasured_probes


def _effects(effects: list[dict[str, Any]]) -> set[tuple[str, str | None, str | None, str]]:
    return {(e["question"], e["before"], e["after"], e["model"]) for e in effects}
