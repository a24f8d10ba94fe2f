"""Every request that writes is counted by its outcome, an unforeseen error included."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from service.editing.editor import Editor
from service.metrics import metrics
from tests.service.editing.requests import PERU, change, head, revert
from tests.service.parts import sample, wait_until
from tests.service.toy import TABLE


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
