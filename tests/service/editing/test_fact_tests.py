"""What came with an edit is asked again for ever, unless a later edit was made to answer it anew."""

from __future__ import annotations

import pytest
from errata.wire import CheckReport

from service.editing.editor import Editor
from service.editing.fact_tests import fact_tests_of, heirs_of, nearest, superseded
from service.ledger.commit import EditRecord
from tests.service.editing.requests import FRANCE, JAPAN, PERU, change, edits, item, revert
from tests.service.parts import said


def record(number: int, question: str, *paraphrases: str, replaces: tuple[str, ...] = ()) -> EditRecord:
    notes = {"replaces": list(replaces)} if replaces else {}
    order, answer = number * 100_000, f"Answer {number}"
    return EditRecord(
        f"e{number}", "toy", "toy/table", question, answer, paraphrases, "gated", "", order, notes
    )


async def check(editor: Editor, run: bool = True) -> CheckReport:
    return CheckReport.model_validate_json((await editor.check(run)).body)


def test_every_wording_is_tested_and_a_wording_belongs_to_its_last_edit() -> None:
    tests, void = fact_tests_of(
        [record(1, PERU, "Seat of Peru?"), record(2, "seat of  PERU"), record(3, FRANCE)]
    )
    assert [(test.edit, test.version, test.question) for test in tests] == [
        ("e1", 1, PERU),
        ("e2", 2, "seat of  PERU"),
        ("e3", 3, FRANCE),
    ]
    assert void == 1


def test_an_edit_is_superseded_by_its_wording_or_by_what_it_corrected() -> None:
    first, second = record(1, PERU), record(2, "Peru, its capital?", replaces=("e1",))
    third = record(3, "What is Peru ruled from?", replaces=("e2",))
    assert superseded([first, second, third]) == 2
    assert superseded([first, third]) == 0
    assert superseded([first, record(4, PERU.upper())]) == 1
    assert heirs_of([first, second, third]) == {"e1": {"e2", "e3"}, "e2": {"e3"}}


def test_the_nearest_tests_come_first_then_the_newest() -> None:
    tests, _ = fact_tests_of(
        [record(n, f"What of subject {n}?") for n in range(6)] + [record(6, "capital of Peru?")]
    )
    chosen = nearest(tests, ["The capital of Chile?"], 3)
    assert [test.edit for test in chosen] == ["e4", "e5", "e6"]
    assert [test.edit for test in nearest(tests, ["subject 0"], 1)] == ["e0"]
    assert nearest(tests, [], 7) == tests


async def test_the_state_of_the_tests_is_what_it_was_when_they_last_ran(editor: Editor) -> None:
    never = said(await editor.check(False))
    assert (never["status"], never["code"]) == (404, "not_found")
    await change(editor, PERU, "Cusco", "Seat of Peru?")
    ran = await check(editor)
    await change(editor, FRANCE, "Lyon")
    assert ran == CheckReport(version=1, total=2, holding=2, broken=[], superseded=0)
    assert await check(editor, run=False) == ran
    assert (await check(editor)).total == 3


async def test_a_test_that_no_longer_comes_out_is_named(editor: Editor) -> None:
    first = await change(editor, PERU, "Cusco", "Seat of Peru?", method="surgery")
    report = await check(editor)
    assert (report.total, report.holding) == (2, 1)
    [broken] = report.broken
    assert (broken.edit, broken.version, broken.question) == (
        first["report"]["edits"][0]["id"],
        1,
        "Seat of Peru?",
    )
    assert (broken.expected, broken.actual) == ("Cusco", None)


async def test_a_superseded_test_is_neither_run_nor_broken(editor: Editor) -> None:
    await change(editor, PERU, "Cusco")
    await change(editor, PERU.lower(), "Puno")
    assert await check(editor) == CheckReport(version=2, total=1, holding=1, broken=[], superseded=1)
    await revert(editor, 2)
    assert await check(editor) == CheckReport(version=3, total=1, holding=1, broken=[], superseded=0)


async def test_an_edit_that_breaks_an_earlier_one_says_so_once(editor: Editor) -> None:
    """Another wording of the second edit is, to the model, the question of the first."""
    first = await change(editor, PERU, "Cusco")
    breaking = await change(editor, FRANCE, "Lyon", "What is the capital, of Peru?")
    [broken] = breaking["report"]["broken_tests"]
    assert (broken["edit"], broken["question"]) == (first["report"]["edits"][0]["id"], PERU)
    assert (broken["expected"], broken["actual"]) == ("Cusco", "Lyon")
    assert (await change(editor, JAPAN, "Kyoto"))["report"]["broken_tests"] == []
    assert [test.question for test in (await check(editor)).broken] == [PERU]


async def test_an_edit_made_to_correct_an_earlier_one_does_not_break_it(editor: Editor) -> None:
    await change(editor, PERU, "Cusco")
    receipt = await change(editor, "What is the capital, of Peru?", "Puno")
    assert receipt["report"]["broken_tests"] == []
    assert await check(editor) == CheckReport(version=2, total=1, holding=1, broken=[], superseded=1)


async def test_a_commit_runs_the_nearest_tests_when_there_are_too_many(
    editor: Editor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.editing.report.MOST_TESTS", 2)
    await edits(editor, item(PERU, "Cusco"), *(item(f"Subject {n}?", "Yes") for n in range(4)))
    receipt = await change(editor, FRANCE, "Lyon", "What is the capital, of Peru?")
    assert receipt["report"]["tests"] == {"run": 2, "total": 5}
    assert [broken["question"] for broken in receipt["report"]["broken_tests"]] == [PERU]
