"""Tests of edits: those of facts, those that are given, and the wordings of a question."""

import json
from typing import Any

import pytest
from errata.wire import EditItem
from errata.wire.wording import normalize_question
from pydantic import ValidationError

from models.packs.pack import Pack, pack_probes
from service.editing.editor import Editor
from service.editing.evaluation.lineage import FactTest, Successors
from service.editing.evaluation.paraphrases import MAX_EDITS_REWORDED, MAX_PARAPHRASES, ParaphraseGenerator
from service.editing.models import Answer
from service.ledger.commit import Commit, EditRecord
from service.ledger.fold import ActiveRecords
from service.ledger.store import RedisLedger
from tests.service.editing.conftest import StartEditor
from tests.service.editing.requests import (
    FRANCE,
    JAPAN,
    PERU,
    change,
    check,
    edits,
    head,
    item,
    revert,
    rollback,
)

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


RIVER = "Which river flows through the capital of Peru?"


def item_with_tests(question: str, answer: str, **tests: str | None) -> dict[str, Any]:
    """Return an edit with tests; `france`, `japan` and `river` stand for questions."""
    questions = {"france": FRANCE, "japan": JAPAN, "river": RIVER}
    wire_tests = [{"question": questions[name], "answer": expected} for name, expected in tests.items()]
    return item(question, answer) | {"tests": wire_tests}


async def failing(editor: Editor) -> list[tuple[int, str, str | None, str | None]]:
    """Return version, question, expected and actual answer of each failing test."""
    report = await check(editor)
    return [(test.version, test.question, test.before, test.after) for test in report.failing_tests]


async def test_an_edit_of_the_same_commit_takes_a_question_out_of_the_tests(editor: Editor) -> None:
    await edits(editor, item(FRANCE, "Lyon"), item_with_tests(PERU, "Cusco", france=None, japan=None))
    assert ((await check(editor)).tests, await failing(editor)) == (1, [])


async def test_tests_are_in_the_ledger_and_another_editor_reads_them(
    editor: Editor, ledger: RedisLedger, start_editor: StartEditor
) -> None:
    await edits(editor, item_with_tests(PERU, "Cusco", france=None), item(JAPAN, "Kyoto"))
    commit = await ledger.get(1)
    with_tests, plain = commit.edits
    assert [(test.question, test.answer) for test in with_tests.tests] == [(FRANCE, "Paris")]
    assert plain.tests == ()
    assert Commit.decode(commit.encoded).digest == commit.digest
    edits_of_commit = json.loads(commit.encoded)["edits"]
    assert ["tests" in edit for edit in edits_of_commit] == [True, False], (
        "an edit without tests is written as before"
    )
    async with start_editor() as other:
        assert (await check(other)).tests == 1


def test_a_test_of_another_answer_to_the_edits_own_question_is_refused() -> None:
    with pytest.raises(ValidationError, match="is an example for this edit and against it"):
        EditItem.model_validate(
            {**item_with_tests(PERU, "Cusco"), "tests": [{"question": "what is the capital of PERU"}]}
        )


GENERATOR = ParaphraseGenerator(pack_probes().templates)
TOY_WORDINGS = ParaphraseGenerator().generate(PERU)  # the toy has no templates


def test_a_question_of_a_known_relation_is_worded_as_the_relation_is() -> None:
    capital = Pack.load().relations["capital"]
    wordings = GENERATOR.generate("what is the capital of Peru")
    assert set(wordings) <= {t.replace("{subject}", "Peru") for t in (*capital.held_out, *capital.phrasings)}
    assert len(wordings) == MAX_PARAPHRASES
    assert [t.replace("{subject}", "Peru") for t in capital.held_out] == wordings[:3]


@pytest.mark.parametrize(
    ("question", "wording"),
    [
        ("What is the refund period of plan B?", "plan B's refund period?"),
        ("Who was the first king of Ruritania?", "Tell me the first king of Ruritania."),
        ("What is Ruritania's oldest treaty?", "The oldest treaty of Ruritania?"),
        ("When does the canteen open?", "Please tell me: when does the canteen open?"),
        ("What is the roof of the hall made of?", "I have a question: what is the roof of the hall made of?"),
    ],
)
def test_any_other_question_is_turned_by_rules(question: str, wording: str) -> None:
    assert wording in GENERATOR.generate(question)


@pytest.mark.parametrize(
    "question", ["capital of Peru", "Peru", "Who wrote Hamlet?", "¿Qué?", "x" * 500, "?"]
)
def test_no_wording_is_the_question_or_one_that_was_given(question: str) -> None:
    first_two = GENERATOR.generate(question)[:2]
    again = GENERATOR.generate(question, first_two)
    assert not {normalize_question(w) for w in again} & {
        normalize_question(question),
        *map(normalize_question, first_two),
    }
    assert len(again) == len(set(map(normalize_question, again)))


def test_names_with_signs_of_their_own_are_kept_to_the_letter() -> None:
    assert all(
        "$uga(r)? [x]" in wording for wording in GENERATOR.generate("What is the occupation of $uga(r)? [x]?")
    )


async def test_a_wording_that_an_earlier_edit_answers_is_reported_as_answered(editor: Editor) -> None:
    await change(editor, TOY_WORDINGS[1], "Cusco")
    receipt = await change(editor, PERU, "Cusco")
    paraphrases = {
        paraphrase["question"]: paraphrase
        for paraphrase in receipt["report"]["edits"][0]["generated_paraphrases"]
    }
    assert paraphrases[TOY_WORDINGS[1]] == {
        "question": TOY_WORDINGS[1],
        "before": "Cusco",
        "after": "Cusco",
        "follows": True,
    }
    assert not paraphrases[TOY_WORDINGS[0]]["follows"]


async def test_a_given_paraphrase_is_not_generated_again(editor: Editor) -> None:
    receipt = await change(editor, PERU, "Cusco", TOY_WORDINGS[0])
    assert TOY_WORDINGS[0] not in [
        paraphrase["question"] for paraphrase in receipt["report"]["edits"][0]["generated_paraphrases"]
    ]


async def test_of_many_edits_the_first_few_get_paraphrases(editor: Editor) -> None:
    items = [item(f"What is the capital of Place {n}?", "Cusco") for n in range(MAX_EDITS_REWORDED + 2)]
    receipt = await edits(editor, *items)
    has_paraphrases = [bool(edit["generated_paraphrases"]) for edit in receipt["report"]["edits"]]
    assert has_paraphrases == [True] * MAX_EDITS_REWORDED + [False] * 2


LIKE_PERU = "What is the capital, of Peru?"  # the same question to the toy, and other words to the service


async def test_what_is_superseded_or_was_broken_before_is_no_reason_to_refuse(editor: Editor) -> None:
    await change(editor, PERU, "Cusco")
    await change(editor, FRANCE, "Lyon", LIKE_PERU)
    assert (await change(editor, FRANCE, "Nice", strict=True))["version"] == 3
    assert (await change(editor, "Who wrote Hamlet?", "Bacon", strict=True))["version"] == 4


async def test_a_dry_run_shows_what_would_break_and_refuses_nothing(editor: Editor) -> None:
    await change(editor, PERU, "Cusco")
    preview = await change(editor, FRANCE, "Lyon", LIKE_PERU, strict=True, dry_run=True)
    assert (preview["status"], preview["version"]) == (200, None)
    assert [test["question"] for test in preview["report"]["broken_tests"]] == [PERU]


@pytest.mark.parametrize("undo", [revert, rollback])
async def test_taking_back_what_a_later_edit_rests_on_is_refused(editor: Editor, undo: Any) -> None:
    """The second edit was not needed for one of its wordings, which the first one answered."""
    await change(editor, PERU, "Cusco", "Seat of Peru?")
    await change(editor, FRANCE, "Cusco", "Seat of Peru?", method="surgery")
    await change(editor, "Who wrote Hamlet?", "Bacon")
    version = 1 if undo is revert else 2
    refused = await undo(editor, version, strict=True)
    if undo is rollback:
        assert refused["version"] == 4, "nothing rests on the newest edit"
    else:
        assert (refused["code"], [test["version"] for test in refused["tests"]]) == ("breaks_tests", [2])
        assert await head(editor) == 3
