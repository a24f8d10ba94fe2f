"""`errata check`, `replicas`, `models`, `memory`, `whoami`: the state of the service, and an exit code for it."""

from __future__ import annotations

from typing import Any

import pytest
from errata import wire

PERU = "What is the capital of Peru?"


def test_tests_that_came_with_edits_are_told_apart_and_are_an_exit_code(
    run: Any, tiny: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    chile = "What is the capital of Chile?"
    test = wire.Outcome(edit="e1", version=1, question=chile, before=None, after="Cusco", by_version=3)
    report = wire.CheckReport(version=1, total=1, holding=1, broken=[], superseded=0, tests=2)
    monkeypatch.setattr(tiny, "check", lambda: report)
    assert run("check").stdout.splitlines()[1] == "All 2 tests that came with edits hold."
    report = report.model_copy(update={"failing_tests": [test]})
    result = run("check")
    assert result.exit_code == 5
    lines = result.stdout.splitlines()
    assert lines[:2] == [
        "The only question or fact of an edit holds at version 1.",
        "1 of 2 tests that came with edits fails:",
    ]
    assert lines[2].split() == [
        *("version", "1", *chile.split(), "not", "sure", "→", "Cusco", "by", "version", "3")
    ]


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


def test_how_the_edits_stand_and_on_request_what_is_superseded(
    run: Any, tiny: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    test = wire.Outcome(
        **{"edit": "e1", "version": 1, "question": PERU, "before": "Cusco", "after": "Puno"},
        **{"by": "e2", "by_version": 2, "follows": True},
    )
    report = wire.CheckReport(
        version=3,
        total=4,
        holding=3,
        broken=[],
        superseded=1,
        edits=wire.EditCounts(active=4, holding=3, superseded=1, reverted=2),
        superseded_tests=[test],
    )
    monkeypatch.setattr(tiny, "check", lambda: report)
    lines = run("check", "--replaced").stdout.splitlines()
    assert tiny.requests[-1][0].url.query == "superseded=true"
    assert lines[0] == "All 3 questions and facts of edits hold at version 3 (1 replaced by later edits)."
    assert lines[2].split() == ["version", "1", *PERU.split(), "Cusco", "→", "Puno", "by", "version", "2"]
    assert lines[3] == "Of all edits 1 is replaced, 2 are taken back."


def test_an_edit_whose_place_another_took_unasked_is_shown_and_is_an_exit_code(
    run: Any, tiny: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    test = wire.Outcome(
        edit="e1",
        version=1,
        question=PERU,
        before="Cusco",
        after="Puno",
        by="e2",
        by_version=2,
    )
    report = wire.CheckReport(version=2, total=2, holding=1, broken=[], superseded=1, overwritten=[test])
    monkeypatch.setattr(tiny, "check", lambda: report)
    result = run("check")
    assert result.exit_code == 5
    lines = result.stdout.splitlines()
    assert lines[:2] == [
        "1 of 2 questions and facts of edits hold at version 2.",
        "Another edit took the place of these without having been told to:",
    ]
    assert lines[-1].split() == ["version", "1", *PERU.split(), "Cusco", "→", "Puno", "by", "version", "2"]


@pytest.mark.parametrize(("words", "method"), [(("check",), "POST"), (("check", "--last"), "GET")])
def test_the_last_run_can_be_read_without_a_new_one(
    run: Any, tiny: Any, words: tuple[str, ...], method: str
) -> None:
    run(*words)
    assert tiny.requests[-1][0].method == method


def test_replicas_that_hold_different_bits_are_news(
    run: Any, tiny: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = tiny.replicas()
    assert "disagree" not in run("replicas").stdout
    other = second.model_copy(update={"checksums": {"nkb/bank": "sha256:" + "f" * 64}})
    monkeypatch.setattr(tiny, "replicas", lambda: [first, other])
    assert "warning: replicas disagree on nkb/bank at version 0\n" in run("replicas").stdout
