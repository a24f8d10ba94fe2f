"""What is done after a commit, its figures, and edits that crash."""

import asyncio
from typing import Any
from unittest.mock import Mock

import pytest
import redis
from errata.wire import EditRequest

from models.nkb.system import NkbSystem
from service.editing import deferred_reports
from service.editing.editor import Editor
from service.editing.evaluation.report import Evaluator
from service.editing.operations import Edit, GetVersion
from service.errors import LedgerUnavailable
from service.ledger import keys
from service.ledger.reports import Reports
from service.metrics import metrics
from tests.service.editing.conftest import StartEditor
from tests.service.editing.requests import (
    FRANCE,
    JAPAN,
    NO_WAIT,
    PERU,
    change,
    checksum,
    edits,
    head,
    item,
    revert,
    rollback,
)
from tests.service.parts import body_of, sample, wait_until
from tests.service.toy import TABLE


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
    monkeypatch.setattr(deferred_reports, "MAX_WAITING", 0)
    assert (await change(editor, PERU, "Cusco", wait_report=False))["report"]["report_state"] == "done"


async def test_reports_that_wait_are_measured_in_common_passes(
    editor: Editor, gate: asyncio.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    ahead = Mock(side_effect=editor.later.evaluator.ask_ahead)
    monkeypatch.setattr(Evaluator, "ask_ahead", ahead)
    for question, answer in ((PERU, "Cusco"), (FRANCE, "Lyon"), (JAPAN, "Kyoto")):
        await change(editor, question, answer, wait_report=False)
    gate.set()
    report = await show(editor, 3, wait_report=True)
    assert [len(call.args[0]) for call in ahead.call_args_list] == [1, 2]
    assert report["edits"][0]["generated_paraphrases"]


async def test_reports_that_are_measured_together_say_what_each_says_alone(
    nkb_editor: Editor, gate: asyncio.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    corrections = [
        (PERU, "Cusco"),
        (FRANCE, "Lyon"),
        ("What is Peru's capital city?", "Puno"),
        ("Who leads the canteen?", "Ann"),
    ]
    compare = Mock(side_effect=NkbSystem.may_differ_in_steps, autospec=True)
    monkeypatch.setattr(NkbSystem, "may_differ_in_steps", lambda *arguments: compare(*arguments))
    findings = []
    for n_together in (1, 64):
        monkeypatch.setattr(deferred_reports, "MAX_TOGETHER", n_together)
        gate.clear()
        compare.reset_mock()
        first = await head(nkb_editor) + 1
        for question, answer in corrections:
            await edits(nkb_editor, item(question, answer, model="nkb"), wait_report=False)
        gate.set()
        reports = [await show(nkb_editor, first + n, wait_report=True) for n in range(len(corrections))]
        assert max(len(call.args[2]) for call in compare.call_args_list) == min(n_together, 3) + 1
        findings.append(
            [
                (
                    [edit["generated_paraphrases"] for edit in report["edits"]],
                    [
                        (q["question"], q["probability"], q["follows"])
                        for q in report["edits"][0]["near_questions"]
                    ],
                    [(q["question"], q.get("before"), q.get("after")) for q in report["side_effects"]],
                    report["probes"],
                )
                for report in reports
            ]
        )
        await rollback(nkb_editor, 0)
    assert findings[0] == findings[1]
    assert any(paraphrase.get("follows") for paraphrase in findings[0][0][0][0])


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
    monkeypatch.setattr(deferred_reports, "RETRY_S", 0.0)
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
        await wait_until(lambda: not editor.later._pending)
    assert (await show(editor, 1))["report_state"] == "missing"
    assert (await change(editor, FRANCE, "Lyon"))["report"]["report_state"] == "done"


async def test_every_kind_and_outcome_is_counted(editor: Editor) -> None:
    labels = [("edit", "committed"), ("edit", "dry_run"), ("edit", "stale_version"), ("revert", "committed")]
    before = [sample("errata_edits_total", kind=kind, outcome=outcome) or 0 for kind, outcome in labels]
    await change(editor, PERU, "Cusco")
    await change(editor, PERU, "Puno", dry_run=True)
    await change(editor, PERU, "Puno", expected_version=9)
    await revert(editor, 1)
    after = [sample("errata_edits_total", kind=kind, outcome=outcome) or 0 for kind, outcome in labels]
    assert after == [count + 1 for count in before]


async def test_a_repeated_request_is_no_new_commit(editor: Editor) -> None:
    def figures() -> list[float]:
        outcomes = [
            sample("errata_edits_total", kind="edit", outcome=o) or 0 for o in ("committed", "repeated")
        ]
        return [*outcomes, sample("errata_commits_total", author="ana") or 0]

    before = figures()
    for _ in range(3):
        assert (await change(editor, PERU, "Cusco", key="nightly-1"))["version"] == 1
    assert figures() == [before[0] + 1, before[1] + 2, before[2] + 1]


async def test_an_edit_whose_caller_left_is_counted_as_cancelled(
    editor: Editor, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def hang(*_: Any) -> None:
        await asyncio.sleep(60)

    outcomes = ("cancelled", "internal")
    before = [sample("errata_edits_total", kind="edit", outcome=outcome) or 0 for outcome in outcomes]
    monkeypatch.setattr(editor.pipeline, "write", hang)
    edit = asyncio.create_task(change(editor, PERU, "Cusco"))
    await asyncio.sleep(0)
    edit.cancel()
    with pytest.raises(asyncio.CancelledError):
        await edit
    after = [sample("errata_edits_total", kind="edit", outcome=outcome) or 0 for outcome in outcomes]
    assert after == [before[0] + 1, before[1]]


async def test_a_commit_is_timed_by_part_and_its_version_shown(editor: Editor) -> None:
    parts = ("editor", "report", "commit", "replicas")
    before = [sample("errata_commit_seconds_count", part=part) or 0 for part in parts]
    metrics.LEDGER_VERSION.clear()
    await change(editor, PERU, "Cusco")
    assert [sample("errata_commit_seconds_count", part=part) for part in parts] == [n + 1 for n in before]
    # An editor of another test in this process may publish its own version once more, and this one does it again
    await wait_until(lambda: sample("errata_ledger_version", ledger="errata") == 1)


async def test_an_unforeseen_error_is_a_problem_and_changes_nothing(
    editor: Editor, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> Any:
        raise ZeroDivisionError("inside the model")

    monkeypatch.setattr(editor.models.memories[TABLE], "fold", fail)
    problem = await change(editor, PERU, "Cusco")
    monkeypatch.undo()
    assert (problem["status"], problem["code"]) == (500, "internal")
    assert "ZeroDivisionError" in problem["detail"]
    assert "inside the model" not in problem["detail"]
    assert await head(editor) == 0
    assert (await change(editor, PERU, "Cusco"))["version"] == 1


ID = "a1b2"


async def send_again(editor: Editor, **options: Any) -> dict[str, Any]:
    """Send an edit as the ingress does after its editor died."""
    request = {"edits": [item(PERU, "Cusco")], **NO_WAIT, **options}
    return body_of(await editor.call(Edit(EditRequest.model_validate(request), "ana", "k1"), suspect=ID))


async def test_it_is_refused_and_nothing_was_changed(editor: Editor, raw: redis.Redis) -> None:
    before = await checksum(editor)
    for options in ({}, {"dry_run": True}, {"measure": False, "dry_run": True}):
        raw.hset(keys.SUSPECTS, ID, "an editor that died")
        refusal = await send_again(editor, **options)
        assert (refusal["status"], refusal["code"], refusal["crash_id"]) == (500, "crashed", ID)
        assert "nothing was changed" in refusal["detail"]
    assert (await head(editor), await checksum(editor)) == (0, before)
    assert sample("errata_edits_total", kind="edit", outcome="crashed")


async def test_an_edit_that_only_was_beside_it_is_made(editor: Editor, raw: redis.Redis) -> None:
    raw.hset(keys.SUSPECTS, "another", "an editor that died")
    assert (await send_again(editor))["status"] == 201
    assert raw.hkeys(keys.SUSPECTS) == [b"another"]


async def test_one_that_was_made_before_the_death_gets_its_receipt(editor: Editor, raw: redis.Redis) -> None:
    await change(editor, PERU, "Cusco", key="k1")
    raw.hset(keys.SUSPECTS, ID, "an editor that died")
    receipt = await send_again(editor)
    assert (receipt["status"], receipt["version"], await head(editor)) == (201, 1, 1)
