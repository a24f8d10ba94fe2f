"""Plans of edits: what is written, extended, replaced, and left alone."""

from typing import Any

import pytest
from errata.wire import EditReceipt

from models.system import Probes
from service.editing.editor import Editor
from service.editing.evaluation.side_effects import ProbeSelector
from service.editing.operations import GetEdit
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
    revert,
)
from tests.service.parts import body_of

OTHER = "Peru's capital city?"


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


ALSO, SEAT = "Peru's capital city?", "Seat of Peru?"
MAYOR, RIVER = "Who is the mayor of the capital of Peru?", "Which river is in Peru?"


def correction(*paraphrases: str, **fields: Any) -> dict[str, Any]:
    return item(PERU, "Cusco", *paraphrases) | fields


async def make_edit(editor: Editor, *items: dict[str, Any], **options: Any) -> dict[str, Any]:
    """Make one edit, and return it as it is kept."""
    receipt = await edits(editor, *items, **options)
    assert receipt["status"] == 201, receipt
    (report,) = receipt["report"]["edits"]
    detail: dict[str, Any] = body_of(await editor.call(GetEdit(report["id"])))["edit"]
    return detail


@pytest.mark.parametrize("replaces", [[], [1]])
@pytest.mark.parametrize(
    ("fields", "name", "values"),
    [
        ({"paraphrases": [SEAT]}, "paraphrases", [SEAT, ALSO]),
        ({"counterexamples": [RIVER]}, "counterexamples", [RIVER, MAYOR]),
        (
            {"tests": [{"question": "Peru?", "answer": "Cusco"}]},
            "tests",
            [{"question": "Peru?", "answer": "Cusco"}, {"question": "Chile?", "answer": "x"}],
        ),
    ],
)
async def test_an_edit_that_says_more_takes_the_place_of_the_earlier_and_keeps_what_it_had(
    editor: Editor, fields: dict[str, Any], name: str, values: list[Any], replaces: list[int]
) -> None:
    test = {"question": "Chile?", "answer": "x"}
    first = await make_edit(editor, correction(ALSO, counterexamples=[MAYOR], tests=[test]))
    before = await checksum(editor)
    second = await make_edit(editor, correction(**fields, replaces=replaces), strict=True)
    assert second[name] == values
    assert ALSO in second["paraphrases"]
    assert MAYOR in second["counterexamples"]
    assert test in second["tests"]
    assert (second["notes"]["extends"], second["notes"]["replaces"]) == (1, [first["id"]])
    assert (await edits(editor, correction(**fields)))["code"] == "nothing_to_do"
    await revert(editor, 2)
    assert await checksum(editor) == before


@pytest.mark.parametrize("replaces", [[], [1]])
async def test_an_edit_that_says_nothing_new_is_still_refused(editor: Editor, replaces: list[int]) -> None:
    tests = [{"question": RIVER, "answer": None}]
    await edits(editor, correction(ALSO, counterexamples=[MAYOR], tests=tests))
    for fields in ({"paraphrases": [ALSO.upper()]}, {"counterexamples": [MAYOR]}, {"tests": tests}, {}):
        assert (await edits(editor, correction(**fields, replaces=replaces)))["code"] == "nothing_to_do", (
            fields
        )
    model_knows = item(PERU.replace("Peru", "Chile"), "Santiago") | {"counterexamples": [MAYOR]}
    assert (await edits(editor, model_knows))["code"] == "nothing_to_do"


async def test_a_wording_of_the_earlier_edit_is_no_example_against_the_new_one(editor: Editor) -> None:
    await edits(editor, correction(ALSO))
    refused = await edits(editor, correction(counterexamples=[ALSO]))
    assert (refused["status"], refused["field"]) == (422, "edits.0")
    assert "is a wording of version 1" in refused["detail"]


async def test_what_was_an_example_against_an_edit_may_become_a_wording(editor: Editor) -> None:
    await edits(editor, correction(counterexamples=[SEAT, MAYOR]))
    second = await make_edit(editor, correction(SEAT))
    assert (second["paraphrases"], second["counterexamples"]) == ([SEAT], [MAYOR])


async def test_an_edit_does_not_grow_without_an_end(editor: Editor) -> None:
    await edits(editor, correction(*(f"{n}?" for n in range(20))))
    refused = await edits(editor, correction("20?"))
    assert refused["status"] == 422
    assert "has 21 other wordings, and 20 are allowed" in refused["detail"]


async def test_what_an_edit_answered_by_its_scope_it_answers_no_more_with_an_example_against_it(
    nkb_editor: Editor,
) -> None:
    near = "What is Peru's capital?"
    await edits(nkb_editor, correction(ALSO, model="nkb"))
    receipt = await edits(nkb_editor, correction(model="nkb", counterexamples=[near]), strict=True)
    (report,) = receipt["report"]["edits"]
    assert [(other["before"], other["follows"]) for other in report["counterexamples"]] == [("Cusco", False)]
    assert [(other["question"], other["after"]) for other in report["paraphrases"]] == [(ALSO, "Cusco")]
