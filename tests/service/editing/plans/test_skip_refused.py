"""With `skip_refused` a commit leaves out refused edits and reports them; a preview reports them beforehand."""

from collections.abc import Sequence
from typing import Any

import pytest
from errata.wire import EditReceipt, EditRequest

from models.memory import AnswerChange, EditRefused, Material, Options
from service.editing.editor import Editor
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
    revert,
)
from tests.service.parts import body_of
from tests.service.toy import FACTS, TABLE, ToyMemory

OTHER = "Peru's capital city?"


async def edit_skipping(editor: Editor, *items: dict[str, Any], **options: Any) -> dict[str, Any]:
    return await edits(editor, *items, skip_refused=True, **options)


async def preview_edits(editor: Editor, *items: dict[str, Any], key: str | None = None) -> dict[str, Any]:
    return await edits(editor, *items, dry_run=True, measure=False, key=key)


def refusals(receipt: dict[str, Any]) -> list[tuple[int, str, str]]:
    return [
        (refusal["place"], refusal["code"], refusal["reason"]) for refusal in receipt["report"]["refused"]
    ]


def answers_by_place(receipt: dict[str, Any]) -> list[tuple[int, str]]:
    return [(edit["place"], edit["after"]) for edit in receipt["report"]["edits"]]


async def test_a_refused_edit_is_skipped_and_reported_with_place_and_reason(
    editor: Editor, ledger: RedisLedger
) -> None:
    receipt = await edit_skipping(
        editor,
        item(FRANCE, "unreachable"),
        item(PERU, "Cusco"),
        item("q", "a", model="nobody"),
        item(JAPAN, "x" * 201),
        item("Who wrote Hamlet?", "Marlowe"),
    )
    assert (receipt["status"], receipt["version"]) == (201, 1)
    assert refusals(receipt) == [
        (0, "edit_refused", "unreachable"),
        (2, "unknown_model", ""),
        (3, "edit_refused", "answer_too_long"),
    ]
    assert "more than 200 characters" in receipt["report"]["refused"][2]["detail"]
    assert answers_by_place(receipt) == [(1, "Cusco"), (4, "Marlowe")]
    assert [edit.question for edit in (await ledger.get(1)).edits] == [PERU, "Who wrote Hamlet?"]


async def test_of_two_answers_to_one_question_the_later_is_taken(editor: Editor) -> None:
    receipt = await edit_skipping(
        editor, item(PERU, "Cusco", OTHER), item(FRANCE, "Lyon"), item(OTHER.upper(), "Puno")
    )
    [refusal] = receipt["report"]["refused"]
    assert (refusal["place"], refusal["code"]) == (0, "superseded")
    assert refusal["detail"] == f"edits.2 gives {OTHER.upper()!r} another answer: the later one was taken"
    assert answers_by_place(receipt) == [(1, "Lyon"), (2, "Puno")]


async def test_what_was_superseded_by_an_edit_that_is_refused_itself_stands(editor: Editor) -> None:
    receipt = await edit_skipping(editor, item(PERU, "Cusco"), item(PERU, "unreachable"))
    assert refusals(receipt) == [(1, "edit_refused", "unreachable")]
    assert answers_by_place(receipt) == [(0, "Cusco")]


async def test_an_edit_that_does_not_hold_is_skipped(editor: Editor) -> None:
    """A gate answers before the row that surgery moves."""
    await change(editor, PERU, "Cusco")
    receipt = await edit_skipping(editor, item(PERU, "Puno"), item(FRANCE, "Lyon"), method="surgery")
    assert refusals(receipt) == [(0, "edit_refused", "does_not_hold")]
    assert (receipt["version"], answers_by_place(receipt)) == (2, [(1, "Lyon")])


async def test_where_all_edits_are_refused_or_idle_nothing_is_committed(editor: Editor) -> None:
    answer = await edit_skipping(editor, item(PERU, "Lima"), item(FRANCE, "unreachable"))
    assert (answer["status"], answer["code"], await head(editor)) == (409, "nothing_to_do", 0)
    assert [(refusal["place"], refusal["reason"]) for refusal in answer["refused"]] == [(1, "unreachable")]


async def test_without_skipping_every_refused_edit_is_named(editor: Editor) -> None:
    answer = await edits(editor, item(PERU, "unreachable"), item(FRANCE, "Lyon"), item(JAPAN, "x" * 201))
    assert (answer["status"], answer["reason"], await head(editor)) == (422, "unreachable", 0)
    assert PERU in answer["detail"]
    assert answer["detail"].endswith("cannot be said (and 1 more are refused)")
    assert [refusal["place"] for refusal in answer["refused"]] == [0, 2]


async def test_a_repeated_request_reports_its_skipped_edits_again(editor: Editor) -> None:
    items = [item(PERU, "Cusco"), item(FRANCE, "unreachable")]
    first = await edit_skipping(editor, *items, key="k")
    again = await edit_skipping(editor, *items, key="k")
    assert (again["version"], again["report"]["refused"]) == (1, first["report"]["refused"])
    assert (refusals(again), await head(editor)) == ([(1, "edit_refused", "unreachable")], 1)


async def test_a_preview_reports_refusals_and_changes_nothing(editor: Editor) -> None:
    receipt = await preview_edits(
        editor, item(PERU, "Cusco"), item(FRANCE, "unreachable"), item(PERU, "Puno")
    )
    assert (receipt["status"], receipt["version"], receipt["report"]["edits"]) == (200, None, [])
    assert refusals(receipt) == [(0, "superseded", ""), (1, "edit_refused", "unreachable")]
    assert (await head(editor), await checksum(editor)) == (0, ToyMemory(FACTS).base.checksum)
    EditReceipt.model_validate(receipt)


async def test_a_preview_with_the_key_of_a_commit_returns_that_commit(editor: Editor) -> None:
    receipt = await edits(editor, item(PERU, "Cusco"), key="k")
    preview = await preview_edits(editor, item(PERU, "Cusco"), key="k")
    assert (preview["version"], preview["report"]["edits"]) == (1, receipt["report"]["edits"])
    other = await preview_edits(editor, item(PERU, "Puno"), key="k")
    assert (other["status"], other["code"]) == (422, "invalid_input")


def test_only_a_dry_run_may_go_unmeasured() -> None:
    body = {"edits": [item(PERU, "Cusco")], "measure": False}
    with pytest.raises(ValueError, match="in a dry run only"):
        EditRequest.model_validate(body)
    assert EditRequest.model_validate({**body, "dry_run": True}).dry_run


async def test_a_preview_takes_more_edits_than_a_commit(editor: Editor) -> None:
    items = [item(f"question {n}", "unreachable" if n == 1_400 else "a") for n in range(1_500)]
    receipt = await preview_edits(editor, *items)
    assert refusals(receipt) == [(1_400, "edit_refused", "unreachable")]
    with pytest.raises(ValueError, match="one commit takes at most 1000 edits, not 1500"):
        EditRequest.model_validate({"edits": items})


async def test_a_preview_names_an_edit_that_another_one_answers(editor: Editor) -> None:
    """The toy ignores the comma. An edit with the same answer does no harm."""
    await change(editor, FRANCE, "Lyon")
    comma = "What is the capital, of Peru?"
    receipt = await preview_edits(editor, item(PERU, "Cusco"), item(comma, "Puno"), item(JAPAN, "Kyoto"))
    [refusal] = receipt["report"]["refused"]
    assert (refusal["place"], refusal["reason"]) == (0, "does_not_hold")
    assert refusal["detail"] == (
        f"{PERU!r} would be answered 'Puno' and not 'Cusco', by edits.1, {comma!r}; leave one of the two out"
    )
    same = await preview_edits(editor, item(PERU, "Cusco"), item(comma, "Cusco"))
    assert same["report"]["refused"] == []


async def test_a_preview_of_surgery_asks_the_model(editor: Editor) -> None:
    """A gate answers before the row that surgery moves."""
    await change(editor, PERU, "Cusco")
    items = [item(PERU, "Puno"), item(FRANCE, "Lyon")]
    receipt = await edits(editor, *items, dry_run=True, measure=False, method="surgery")
    assert refusals(receipt) == [(0, "edit_refused", "does_not_hold")]


async def test_rows_are_built_once_for_a_preview_and_its_commit(
    editor: Editor, monkeypatch: pytest.MonkeyPatch
) -> None:
    questions: list[str] = []
    memory = editor.models.memories[TABLE]
    build = memory.build

    def count(changes: Sequence[AnswerChange], options: Options) -> list[Material | EditRefused]:
        questions.extend(change.question for change in changes)
        return build(changes, options)

    monkeypatch.setattr(memory, "build", count)
    await preview_edits(editor, item(PERU, "Cusco"), item(FRANCE, "Lyon"))
    receipt = await edits(editor, item(PERU, "Cusco"), item(FRANCE, "Lyon"))
    assert (questions, before_and_after(receipt)) == ([PERU, FRANCE], [("Lima", "Cusco"), ("Paris", "Lyon")])
    await revert(editor, 1)
    again = await edits(editor, item(PERU, "Cusco"))
    ids = [reply["report"]["edits"][0]["id"] for reply in (receipt, again)]
    assert (len(set(ids)), len(questions)) == (2, 2)
    assert body_of(await editor.call(GetVersion(3)))["edits"][0]["id"] == ids[1]
