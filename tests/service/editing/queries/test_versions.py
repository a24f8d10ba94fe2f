"""The log, one version, the difference of two and the state of the memory, as the wire promises them."""

import time

import pytest
from errata.wire import MemoryState, VersionLog

from models.system import Probes
from service.editing.editor import Editor
from service.editing.evaluation import diff as difference
from service.editing.evaluation.side_effects import ProbeSelector
from service.editing.operations import GetMemory, ListVersions
from service.editing.queries import history
from tests.service.editing.conftest import StartEditor
from tests.service.editing.requests import (
    FRANCE,
    JAPAN,
    PERU,
    change,
    checksum,
    diff,
    edits,
    item,
    revert,
    rollback,
)


async def log(editor: Editor, limit: int = 20, before: int | None = None) -> VersionLog:
    return VersionLog.model_validate_json((await editor.call(ListVersions(limit, before))).body)


async def changes(editor: Editor, a: int, b: int) -> list[tuple[str, str | None, str | None]]:
    return [(change.question, change.before, change.after) for change in (await diff(editor, a, b)).changes]


async def test_the_edits_of_the_last_days_are_counted(
    editor: Editor, monkeypatch: pytest.MonkeyPatch
) -> None:
    await edits(editor, item(PERU, "Cusco"), item(FRANCE, "Lyon"))
    await change(editor, JAPAN, "Kyoto")
    await revert(editor, 1)
    now = time.time()
    for n_days, later, counts in ((0, 0, []), (2, 0, [0, 3]), (3, 1, [0, 3, 0]), (2, 2, [0, 0])):
        monkeypatch.setattr(history, "time", lambda at=now + 86_400 * later: at)
        outcome = await editor.call(ListVersions(1, author="another", by_day=n_days))
        days = VersionLog.model_validate_json(outcome.body).edits_by_day
        assert list(days.values()) == counts
        assert [(max(days) - day).days for day in days] == list(range(len(days)))[::-1]


async def test_the_log_names_the_first_edit_of_each_version(editor: Editor) -> None:
    await edits(editor, item(PERU, "Cusco"), item(FRANCE, "Lyon"))
    await change(editor, "x" * 300, "y")
    long, two = (await log(editor)).versions
    assert two.edits == 2
    assert two.first is not None
    assert (two.first.question, two.first.notes) == (PERU, {})
    assert long.first is not None
    assert long.first.question == "x" * 200, "the log of a thousand versions is a page, not a book"


async def test_a_diff_lists_side_effects(editor: Editor) -> None:
    """The toy takes them for one question, as a model with a wide gate would."""
    editor.side_effects._selectors["toy"] = ProbeSelector(Probes(("What is (the capital) of Peru?", JAPAN)))
    await change(editor, PERU, "Cusco")
    difference = await diff(editor, 0, 1)
    assert [change.question for change in difference.changes] == [PERU]
    assert difference.probes == 2
    assert [(effect.question, effect.before, effect.after) for effect in difference.side_effects] == [
        ("What is (the capital) of Peru?", "Lima", "Cusco")
    ]


async def test_a_diff_lists_the_paraphrase_of_a_replaced_edit(editor: Editor) -> None:
    await edits(editor, item(PERU, "Cusco", "Seat of Peru?"))
    await rollback(editor, 0)
    await edits(editor, item(PERU, "Puno"))
    assert await changes(editor, 1, 3) == [
        ("Seat of Peru?", "Cusco", None),
        (PERU, "Cusco", "Puno"),
    ]


async def test_a_shared_wording_is_listed_once_with_the_later_edit(editor: Editor) -> None:
    await edits(editor, item(PERU, "Cusco", "Seat of Peru?"))
    second = await edits(editor, item("Seat of Peru?", "Puno"))
    answer_changes = (await diff(editor, 0, 2)).changes
    assert [(change.question, change.after) for change in answer_changes] == [
        (PERU, "Cusco"),
        ("Seat of Peru?", "Puno"),
    ]
    assert answer_changes[1].edit == second["report"]["edits"][0]["id"]


async def test_of_very_many_changes_the_oldest_are_not_measured(
    editor: Editor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(difference, "MAX_ASKED", 1)
    await change(editor, PERU, "Cusco")
    await change(editor, FRANCE, "Lyon")
    older, newer = (await diff(editor, 0, 2)).changes
    assert (older.question, older.after, older.is_measured) == (PERU, "Cusco", False)
    assert (newer.question, newer.before, newer.after, newer.is_measured) == (FRANCE, "Paris", "Lyon", True)


async def test_a_diff_names_an_earlier_correction_with_a_new_answer(editor: Editor) -> None:
    """The toy takes the two for one question; both corrections stand."""
    await change(editor, PERU, "Cusco")
    receipt = await change(editor, "What is (the capital) of Peru", "Puno")
    [test] = receipt["report"]["superseded_tests"]
    assert (test["question"], test["after"], test["follows"]) == (PERU, "Puno", False)
    difference = await diff(editor, 1, 2)
    assert [(effect.question, effect.before, effect.after) for effect in difference.side_effects] == [
        (PERU, "Cusco", "Puno")
    ]


async def test_one_edit_in_place_of_another_is_one_change(editor: Editor) -> None:
    await change(editor, PERU, "Cusco")
    await rollback(editor, 0)
    second = await change(editor, PERU, "Puno")
    [difference] = (await diff(editor, 1, 3)).changes
    assert (difference.before, difference.after) == ("Cusco", "Puno")
    assert difference.edit == second["report"]["edits"][0]["id"]


async def test_a_change_that_alters_no_answer_is_not_in_the_diff(editor: Editor) -> None:
    """The surgery of version 2 has no effect, as the gate of version 1 answers. A revert of either shows it."""
    await change(editor, PERU, "Cusco", method="surgery")
    await change(editor, PERU, "Puno")
    await revert(editor, 1)
    difference = await diff(editor, 2, 3)
    assert (difference.changes, difference.checksums_differ) == ([], {"toy/table": True})


async def test_the_memory_counts_what_is_active_taken_back_and_superseded(
    editor: Editor, start_editor: StartEditor
) -> None:
    await change(editor, PERU, "Cusco")
    await change(editor, PERU, "Puno")
    await change(editor, FRANCE, "Lyon")
    await revert(editor, 3)
    memory = MemoryState.model_validate_json((await editor.call(GetMemory())).body)
    assert (memory.version, memory.checksums) == (4, {"toy/table": await checksum(editor)})
    assert (memory.edits.active, memory.edits.reverted, memory.edits.superseded) == (2, 1, 1)
    assert memory.capacities["toy/table"].slots_used == 2
    async with start_editor() as fresh:
        assert MemoryState.model_validate_json((await fresh.call(GetMemory())).body) == memory
