"""Every wording of an edit stays a test until a later edit supersedes it."""

from __future__ import annotations

from errata.wire import CheckReport, EditCounts

from service.editing.editor import Editor
from service.editing.evaluation.lineage import FactTest, Successors
from service.editing.models import Answer
from service.editing.operations import GetChecks
from service.ledger.commit import EditRecord
from service.ledger.fold import ActiveRecords
from tests.service.editing.requests import FRANCE, JAPAN, PERU, change, check, edits, item, revert
from tests.service.parts import body_of

MADE_FOR = "What is the capital, of Peru?"  # the same question to the toy, and other words to the service


def record(number: int, question: str, *paraphrases: str, replaces: tuple[str, ...] = ()) -> EditRecord:
    notes = {"replaces": list(replaces)} if replaces else {}
    order, answer = number * 100_000, f"Answer {number}"
    return EditRecord(
        f"e{number}", "toy", "toy/table", question, answer, paraphrases, "gated", "", order, notes
    )


def find_successor(
    test: FactTest, *edits: EditRecord, speaks: str | None = None, reverted: tuple[EditRecord, ...] = ()
) -> str | None:
    answer = None if speaks is None else Answer("whatever", (speaks,))
    records = {edit.id: edit for edit in sorted((*edits, *reverted), key=lambda edit: edit.order)}
    heir = Successors(ActiveRecords(records, {edit.id for edit in edits}), [test]).of(test, answer)
    return heir and heir.id


def states(report: CheckReport) -> tuple[int, int, int, int]:
    """Return the numbers of edits that are active, hold, are broken and are superseded."""
    assert report.edits is not None
    counts = report.edits
    assert counts.active == counts.holding + counts.broken + counts.superseded
    return counts.holding, counts.broken, counts.superseded, counts.reverted


def test_a_wording_belongs_to_its_last_edit() -> None:
    first, second = record(1, PERU, "Seat of Peru?"), record(2, "seat of  PERU")
    assert find_successor(FactTest(first, 1), first, second, speaks="e9") == "e2"
    assert find_successor(FactTest(first, 0), first, second, speaks="e9") is None
    assert find_successor(FactTest(second, 0), first, second, speaks="e1") is None


def test_a_correction_takes_over_where_it_answers() -> None:
    first, second = record(1, PERU), record(2, "Peru, its capital?", replaces=("e1",))
    third = record(3, "What is Peru ruled from?", replaces=("e2",))
    test = FactTest(first, 0)
    assert find_successor(test, first, second, third, speaks="e2") == "e2"
    assert find_successor(test, first, second, third, speaks="e3") == "e3"
    assert find_successor(test, first, second, third, speaks="e9") is None
    assert find_successor(test, first, third, speaks="e3") is None


def test_a_correction_of_a_reverted_edit_takes_over_from_the_edits_before_it() -> None:
    first, second = record(1, PERU), record(2, "Peru, its capital?", replaces=("e1",))
    third = record(3, "What is Peru ruled from?", replaces=("e2",))
    test = FactTest(first, 0)
    assert find_successor(test, first, third, speaks="e3", reverted=(second,)) == "e3"
    assert find_successor(test, first, speaks="e9", reverted=(second, third)) is None


def test_without_a_reply_the_newest_correction_is_taken_to_answer() -> None:
    first, second = record(1, PERU), record(2, "Peru, its capital?", replaces=("e1",))
    third = record(3, "What is Peru ruled from?", replaces=("e2",))
    assert find_successor(FactTest(first, 0), first, second, third) == "e3"
    assert find_successor(FactTest(third, 0), first, second, third) is None


async def test_the_state_of_the_tests_is_what_it_was_when_they_last_ran(editor: Editor) -> None:
    never = body_of(await editor.call(GetChecks()))
    assert (never["status"], never["code"]) == (404, "not_found")
    await change(editor, PERU, "Cusco", "Seat of Peru?")
    ran = await check(editor)
    await change(editor, FRANCE, "Lyon")
    counts = EditCounts(active=1, holding=1, broken=0, superseded=0, reverted=0)
    assert ran == CheckReport(version=1, total=2, holding=2, broken=[], superseded=0, edits=counts)
    assert await check(editor, run=False) == ran
    assert (await check(editor)).total == 3


async def test_a_test_that_no_longer_holds_is_named(editor: Editor) -> None:
    first = await change(editor, PERU, "Cusco", "Seat of Peru?", method="surgery")
    report = await check(editor)
    assert (report.total, report.holding, states(report)) == (2, 1, (0, 1, 0, 0))
    [broken] = report.broken
    assert (broken.edit, broken.version, broken.question) == (
        first["report"]["edits"][0]["id"],
        1,
        "Seat of Peru?",
    )
    assert (broken.before, broken.after) == ("Cusco", None)


async def test_a_superseded_test_is_not_broken_and_comes_back_with_its_edit(editor: Editor) -> None:
    first = await change(editor, PERU, "Cusco")
    second = await change(editor, PERU.lower(), "Puno")
    report = await check(editor, superseded=True)
    assert (report.total, report.holding, report.superseded, report.broken) == (2, 1, 1, [])
    assert states(report) == (1, 0, 1, 0)
    [test] = report.superseded_tests or []
    assert (test.question, test.before, test.after) == (PERU, "Cusco", "Puno")
    assert (test.edit, test.version) == (first["report"]["edits"][0]["id"], 1)
    assert (test.by, test.by_version) == (second["report"]["edits"][0]["id"], 2)
    assert (await check(editor)).superseded_tests is None, "only on request"
    await revert(editor, 2)
    back = await check(editor)
    assert (back.total, back.holding, states(back)) == (1, 1, (1, 0, 0, 1))


async def test_the_report_names_superseded_tests_and_the_test_status(editor: Editor) -> None:
    await edits(editor, item(PERU, "Cusco"), item(FRANCE, "Lyon"))
    report = (await change(editor, PERU, "Puno"))["report"]
    [test] = report["superseded_tests"]
    assert (test["question"], test["before"], test["after"]) == (PERU, "Cusco", "Puno")
    assert (test["version"], test["by_version"], test["by"]) == (1, 2, report["edits"][0]["id"])
    assert report["test_status"] == {"active": 3, "holding": 2, "broken": 0, "superseded": 1, "reverted": 0}
    third = (await change(editor, PERU, "Tacna"))["report"]
    assert [test["before"] for test in third["superseded_tests"]] == ["Puno"], "Cusco was superseded before"


async def test_an_answer_that_another_edit_gives_too_holds(editor: Editor) -> None:
    for answer in ("Cusco", "Puno", "Cusco"):
        await change(editor, PERU, answer)
    report = await check(editor, superseded=True)
    assert [test.before for test in report.superseded_tests or []] == ["Puno"]
    assert (report.holding, report.broken) == (2, [])


async def test_an_edit_that_breaks_an_earlier_one_says_so_once(editor: Editor) -> None:
    """Another wording of the second edit is, to the model, the question of the first."""
    first = await change(editor, PERU, "Cusco")
    breaking = await change(editor, FRANCE, "Lyon", MADE_FOR)
    [broken] = breaking["report"]["broken_tests"]
    assert (broken["edit"], broken["question"]) == (first["report"]["edits"][0]["id"], PERU)
    assert (broken["before"], broken["after"]) == ("Cusco", "Lyon")
    assert (await change(editor, JAPAN, "Kyoto"))["report"]["broken_tests"] == []
    report = await check(editor)
    assert ([test.question for test in report.broken], states(report)) == ([PERU], (2, 1, 0, 0))


async def test_an_edit_made_to_correct_an_earlier_one_does_not_break_it(editor: Editor) -> None:
    await change(editor, PERU, "Cusco")
    receipt = await change(editor, MADE_FOR, "Puno")
    assert receipt["report"]["broken_tests"] == []
    assert [test["question"] for test in receipt["report"]["superseded_tests"]] == [PERU]
    report = await check(editor)
    assert (report.total, report.holding, report.superseded, report.broken) == (2, 1, 1, [])
