"""Corrections become one commit with a report, or nothing at all."""

from __future__ import annotations

import pytest
from errata.wire import EditReceipt

from models.system import Probes
from service.editing.editor import Editor
from service.editing.evaluation.side_effects import ProbeSelector
from service.editing.operations import GetVersion
from service.ledger.store import RedisLedger
from tests.service.editing.requests import (
    FRANCE,
    JAPAN,
    PERU,
    before_and_after,
    change,
    checksum,
    edits,
    head,
    item,
)
from tests.service.parts import body_of
from tests.service.toy import FACTS, ToyMemory

OTHER = "Peru's capital city?"


async def test_an_edit_is_a_commit_with_a_report_of_what_it_did(editor: Editor, ledger: RedisLedger) -> None:
    receipt = await change(editor, PERU, "Cusco", OTHER, message="try")
    [report] = receipt["report"]["edits"]
    commit = await ledger.get(1)
    assert (receipt["status"], receipt["version"], receipt["kind"]) == (201, 1, "edit")
    assert (report["before"], report["after"], report["holds"], report["method"]) == (
        "Lima",
        "Cusco",
        True,
        "gated",
    )
    assert report["paraphrases"] == [{"question": OTHER, "before": None, "after": "Cusco", "follows": True}]
    assert (commit.author, commit.message) == ("ana", "try")
    assert body_of(await editor.call(GetVersion(1)))["report"]["edits"] == [report]
    assert commit.edits[0].id == report["id"]
    assert commit.writes["toy/table"].checksum == await checksum(editor) != ToyMemory(FACTS).base.checksum


async def test_a_receipt_is_what_the_wire_promises(editor: Editor) -> None:
    receipt = await change(editor, PERU, "Cusco", OTHER)
    parsed_receipt = EditReceipt.model_validate({k: v for k, v in receipt.items() if k != "status"})
    assert parsed_receipt.report.capacity.slots_used == 1
    assert parsed_receipt.report.timings.editor_ms > 0 < parsed_receipt.report.timings.commit_ms


async def test_many_edits_are_one_commit(editor: Editor, ledger: RedisLedger) -> None:
    items = [item(PERU, "Cusco"), item(FRANCE, "Lyon"), item("How are you?", "Well")]
    receipt = await edits(editor, *items)
    assert before_and_after(receipt) == [("Lima", "Cusco"), ("Paris", "Lyon"), (None, "Well")]
    assert await head(editor) == 1
    assert [edit.order for edit in (await ledger.get(1)).edits] == [100_000, 100_001, 100_002]


async def test_an_idle_edit_does_not_hold_the_others_back(editor: Editor, ledger: RedisLedger) -> None:
    receipt = await edits(editor, item(FRANCE, "Lyon"), item(PERU, "Lima"), item(JAPAN, "Kyoto"))
    first, second, last = receipt["report"]["edits"]
    assert (first["after"], second["after"], last["after"]) == ("Lyon", "Lima", "Kyoto")
    assert (second["id"], second["holds"], len(second["warnings"])) == ("", True, 1)
    assert [edit.question for edit in (await ledger.get(1)).edits] == [FRANCE, JAPAN]


async def test_repeated_wordings_count_once(editor: Editor, ledger: RedisLedger) -> None:
    await change(editor, PERU, "Cusco", "  what is the CAPITAL of peru", OTHER, OTHER.upper())
    assert (await ledger.get(1)).edits[0].paraphrases == (OTHER,)


async def test_a_correction_that_stands_twice_is_written_once(editor: Editor, ledger: RedisLedger) -> None:
    receipt = await edits(editor, item(PERU, "Cusco"), item(PERU.lower(), "Cusco"))
    assert before_and_after(receipt) == [("Lima", "Cusco"), ("Lima", "Cusco")]
    assert len((await ledger.get(1)).edits) == 1


@pytest.mark.parametrize(
    ("items", "options", "status", "code"),
    [
        ([item(PERU, "Cusco", OTHER), item(OTHER, "Puno")], {}, 422, "invalid_input"),
        ([item(PERU, "Cusco", model="nobody")], {}, 404, "unknown_model"),
        ([item(FRANCE, "Lyon"), item(PERU, "unreachable")], {}, 422, "edit_refused"),
        ([item(PERU, "Cusco")], {"expected_version": 3}, 409, "stale_version"),
    ],
)
async def test_what_cannot_be_done_is_refused_whole(
    editor: Editor, items: list[dict[str, object]], options: dict[str, object], status: int, code: str
) -> None:
    refused = await edits(editor, *items, **options)
    assert (refused["status"], refused["code"]) == (status, code)
    assert (await head(editor), await checksum(editor)) == (0, ToyMemory(FACTS).base.checksum)


async def test_two_answers_to_one_question_are_named(editor: Editor) -> None:
    refused = await edits(
        editor, item(FRANCE, "Lyon"), item(PERU, "Cusco", OTHER), item(OTHER.lower(), "Puno")
    )
    assert refused["detail"] == f"edits.1 and edits.2 give {OTHER.lower()!r} two answers: keep one of them"


async def test_an_edit_that_only_interrupts_an_earlier_one_does_not_replace_it(editor: Editor) -> None:
    """A wording of the first edit becomes the question of the second, and the first keeps its own."""
    await change(editor, PERU, "Cusco", OTHER)
    second = await change(editor, OTHER, "Puno")
    assert "replaces" not in second["report"]["edits"][0]["notes"]


async def test_questions_near_the_edit_that_change_too_are_reported(editor: Editor) -> None:
    """The toy takes them for one question, as a model with a wide gate would."""
    editor.side_effects._selectors["toy"] = ProbeSelector(
        Probes((JAPAN,), ("What is (the capital) of Peru?",))
    )
    receipt = await change(editor, PERU, "Cusco")
    assert receipt["report"]["probes"] == 2
    [changed] = receipt["report"]["side_effects"]
    assert (changed["question"], changed["before"], changed["after"]) == (
        "What is (the capital) of Peru?",
        "Lima",
        "Cusco",
    )
    assert changed["model"] == "toy"


async def test_the_question_of_an_edit_that_is_replaced_is_no_side_effect(editor: Editor) -> None:
    editor.side_effects._selectors["toy"] = ProbeSelector(Probes((PERU, JAPAN)))
    await change(editor, PERU, "Cusco")
    receipt = await change(editor, "What is (the capital) of Peru?", "Puno")
    assert (receipt["report"]["probes"], receipt["report"]["side_effects"]) == (1, [])


async def test_an_idle_correction_is_written_when_the_other_edits_change_its_answer(editor: Editor) -> None:
    """The toy cannot tell the two apart, so the second answers for the first, which is refused."""
    refused = await edits(editor, item(PERU, "Lima"), item("What is the capital, of Peru?", "Cusco"))
    assert (refused["status"], refused["reason"], refused["failing"]) == (422, "does_not_hold", [PERU])
    assert await head(editor) == 0


async def test_a_repeated_correction_is_written_when_the_first_does_not_answer_it(editor: Editor) -> None:
    receipt = await edits(editor, item(PERU, "Cusco", OTHER), item(OTHER, "Cusco"), method="surgery")
    assert before_and_after(receipt) == [("Lima", "Cusco"), (None, "Cusco")]
    assert [edit["id"] != "" for edit in receipt["report"]["edits"]] == [True, True]
