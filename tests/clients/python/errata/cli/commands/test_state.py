"""`errata check`, `replicas`, `models`, `memory`, `whoami`: the state of the service, and an exit code for it."""

from __future__ import annotations

from typing import Any

import pytest
from errata import wire


def test_other_answers_that_corrections_change_fail_the_check(
    run: Any, tiny: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    effect = wire.Outcome(question="Bolivia?", before="Sucre", after="Cusco")
    report = wire.CheckReport(version=1, total=1, holding=1, broken=[], superseded=0, other_answers=[effect])
    monkeypatch.setattr(tiny, "check", lambda: report)
    result = run("check")
    assert result.exit_code == 5
    lines = result.stdout.splitlines()
    assert (
        lines[1]
        == "Corrections answer 1 question of the facts that Errata came with, though they are about something else:"
    )
    assert lines[2].split() == ["Bolivia?", "Sucre", "→", "Cusco"]


def test_replicas_that_hold_different_bits_are_news(
    run: Any, tiny: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = tiny.replicas()
    assert "disagree" not in run("replicas").stdout
    other = second.model_copy(update={"checksums": {"nkb/bank": "sha256:" + "f" * 64}})
    monkeypatch.setattr(tiny, "replicas", lambda: [first, other])
    assert "warning: replicas disagree on nkb/bank at version 0\n" in run("replicas").stdout
