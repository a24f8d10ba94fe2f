"""Reports that are completed after their commits: an edit waits for none, and none is lost without a word."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from service.editing import later
from service.editing.editor import Editor
from service.editing.evaluation.report import Evaluator
from service.editing.operations import GetVersion
from service.errors import LedgerUnavailable
from service.ledger.beside import Reports
from tests.service.editing.conftest import StartEditor
from tests.service.editing.requests import FRANCE, JAPAN, PERU, change, revert
from tests.service.parts import body_of, wait_until

Complete = Callable[..., Awaitable[Any]]


async def show(editor: Editor, version: int, wait_report: bool = False) -> dict[str, Any]:
    report: dict[str, Any] = body_of(await editor.call(GetVersion(version, wait_report)))["report"]
    return report


@pytest.fixture(name="gate")
def make_gate(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Let every measurement after a commit wait for an event."""
    gate, complete = asyncio.Event(), Evaluator.complete

    async def wait(*arguments: Any) -> Any:
        if arguments[-1] is not None:
            await gate.wait()
        return await complete(*arguments)

    monkeypatch.setattr(Evaluator, "complete", wait)
    return gate


async def test_a_receipt_comes_before_its_report_is_measured(editor: Editor, gate: asyncio.Event) -> None:
    receipt = await change(editor, PERU, "Cusco", wait_report=False, key="k")
    report = receipt["report"]
    [edit] = report["edits"]
    assert (report["report_state"], edit["holds"], edit["generated_paraphrases"]) == ("measuring", True, [])
    assert report["report_note"].endswith("errata show 1 has it in a moment")
    assert (await show(editor, 1))["report_state"] == "measuring"
    gate.set()
    whole = await show(editor, 1, wait_report=True)
    assert (whole["report_state"], whole["report_note"]) == ("done", "")
    assert whole["edits"][0]["generated_paraphrases"]
    assert whole["edits"][0]["id"] == report["edits"][0]["id"]
    repetition = await change(editor, PERU, "Cusco", wait_report=False, key="k")
    assert (repetition["version"], repetition["report"]["report_state"]) == (1, "done")
    assert repetition["report"]["edits"] == whole["edits"]


async def test_later_commits_do_not_wait_for_an_earlier_report(editor: Editor, gate: asyncio.Event) -> None:
    await change(editor, PERU, "Cusco", wait_report=False)
    await change(editor, FRANCE, "Lyon", wait_report=False)
    await revert(editor, 1, wait_report=False)
    assert [(await show(editor, version))["report_state"] for version in (1, 2, 3)] == ["measuring"] * 3
    gate.set()
    for version, (question, answer) in enumerate([(PERU, "Cusco"), (FRANCE, "Lyon"), (PERU, "Lima")], 1):
        report = await show(editor, version, wait_report=True)
        [edit] = report["edits"]
        assert (report["report_state"], edit["question"], edit["after"]) == ("done", question, answer)


@pytest.mark.parametrize("options", [{"dry_run": True}, {"strict": True}])
async def test_what_a_report_may_refuse_is_measured_first(
    editor: Editor, gate: asyncio.Event, options: dict[str, bool]
) -> None:
    gate.set()
    report = (await change(editor, PERU, "Cusco", wait_report=False, **options))["report"]
    assert report["report_state"] == "done"
    assert report["edits"][0]["generated_paraphrases"]


async def test_a_commit_measures_its_own_report_while_too_many_wait(
    editor: Editor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(later, "MAX_WAITING", 0)
    assert (await change(editor, PERU, "Cusco", wait_report=False))["report"]["report_state"] == "done"


async def test_a_report_that_dies_with_its_editor_is_missing(
    start_editor: StartEditor, gate: asyncio.Event
) -> None:
    async with start_editor() as editor:
        await change(editor, PERU, "Cusco", wait_report=False)
    gate.set()
    async with start_editor() as editor:
        report = await show(editor, 1, wait_report=True)
        assert (report["report_state"], report["edits"][0]["after"]) == ("missing", "Cusco")
        assert report["report_note"].endswith("because the editor ended before: errata diff 0 1 measures it")
        assert (await change(editor, JAPAN, "Kyoto"))["report"]["report_state"] == "done"


async def test_a_report_is_kept_when_the_ledger_is_back(
    editor: Editor, monkeypatch: pytest.MonkeyPatch
) -> None:
    put, attempts = Reports.put, 0

    async def fail_once(reports: Reports, report: Any) -> None:
        nonlocal attempts
        attempts += 1
        if attempts == 1:
            raise LedgerUnavailable("it is away")
        await put(reports, report)

    monkeypatch.setattr(Reports, "put", fail_once)
    monkeypatch.setattr(later, "RETRY_S", 0.0)
    assert (await change(editor, PERU, "Cusco"))["report"]["report_state"] == "done"
    assert attempts == 2


async def test_a_report_that_fails_is_missing_and_ends_no_other(
    editor: Editor, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: Any) -> None:
        raise RuntimeError("a bug")

    with monkeypatch.context() as patch:
        patch.setattr(Evaluator, "complete", fail)
        await change(editor, PERU, "Cusco", wait_report=False)
        await wait_until(lambda: not editor.later._commissions)
    assert (await show(editor, 1))["report_state"] == "missing"
    assert (await change(editor, FRANCE, "Lyon"))["report"]["report_state"] == "done"
