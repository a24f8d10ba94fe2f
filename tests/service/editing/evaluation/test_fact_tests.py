"""Every wording of an edit stays a test until a later edit supersedes it."""

from __future__ import annotations

from service.editing.editor import Editor
from service.editing.evaluation.lineage import FactTest, Successors
from service.editing.models import Answer
from service.ledger.commit import EditRecord
from service.ledger.fold import ActiveRecords
from tests.service.editing.requests import PERU, change, check

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


async def test_an_answer_that_another_edit_gives_too_holds(editor: Editor) -> None:
    for answer in ("Cusco", "Puno", "Cusco"):
        await change(editor, PERU, answer)
    report = await check(editor, superseded=True)
    assert [test.before for test in report.superseded_tests or []] == ["Puno"]
    assert (report.holding, report.broken) == (2, [])


async def test_an_edit_made_to_correct_an_earlier_one_does_not_break_it(editor: Editor) -> None:
    await change(editor, PERU, "Cusco")
    receipt = await change(editor, MADE_FOR, "Puno")
    assert receipt["report"]["broken_tests"] == []
    assert [test["question"] for test in receipt["report"]["superseded_tests"]] == [PERU]
    report = await check(editor)
    assert (report.total, report.holding, report.superseded, report.broken) == (2, 1, 1, [])
