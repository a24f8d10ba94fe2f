"""`errata check`, `replicas`, `models`, `memory`, `whoami`: the state of the service, and an exit code for it."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from errata import wire
from errata.cli.render.status import draw_models
from rich.console import Console

PERU = "What is the capital of Peru?"


def test_tests_that_hold_are_one_line(run: Any) -> None:
    assert (
        run("check").stdout
        == "There is nothing to check at version 0: no edit that is in use has a question.\n"
    )
    run("edit", PERU, "Cusco")
    assert run("check").stdout == "The only question or fact of an edit holds at version 1.\n"
    run("edit", "q", "a")
    assert run("check").stdout == "All 2 questions and facts of edits hold at version 2.\n"


def test_a_test_that_no_longer_holds_is_shown_and_is_an_exit_code(run: Any, tiny: Any) -> None:
    run("edit", PERU, "Cusco")
    tiny.broken = [{"edit": "e1", "version": 1, "question": PERU, "expected": "Cusco", "actual": "Lima"}]
    result = run("check")
    assert result.exit_code == 5
    assert result.stdout.startswith("0 of 1 questions and facts of edits hold at version 1.\n")
    assert result.stdout.splitlines()[-1].split() == ["1", *PERU.split(), "Cusco", "Lima"]


def test_tests_that_came_with_edits_are_told_apart_and_are_an_exit_code(
    run: Any, tiny: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    chile = "What is the capital of Chile?"
    test = wire.FailingTest(edit="e1", version=1, question=chile, expected=None, actual="Cusco", by_version=3)
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
    assert lines[3].split() == ["1", *chile.split(), "not", "sure", "Cusco", "version", "3"]


def test_other_answers_that_corrections_change_fail_the_check(
    run: Any, tiny: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    effect = wire.SideEffect(question="Bolivia?", before="Sucre", after="Cusco")
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
    test = wire.SupersededTest(
        edit="e1", version=1, question=PERU, expected="Cusco", actual="Puno", by="e2", by_version=2
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
    assert lines[3].split() == ["1", *PERU.split(), "Cusco", "Puno", "2"]
    assert lines[4] == "Of all edits 1 is replaced, 2 are taken back."


def test_an_edit_whose_place_another_took_unasked_is_shown_and_is_an_exit_code(
    run: Any, tiny: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    test = wire.SupersededTest(
        edit="e1",
        version=1,
        question=PERU,
        expected="Cusco",
        actual="Puno",
        by="e2",
        by_version=2,
        on_purpose=False,
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
    assert lines[-1].split() == ["1", *PERU.split(), "Cusco", "Puno", "2"]


@pytest.mark.parametrize(("words", "method"), [(("check",), "POST"), (("check", "--last"), "GET")])
def test_the_last_run_can_be_read_without_a_new_one(
    run: Any, tiny: Any, words: tuple[str, ...], method: str
) -> None:
    run(*words)
    assert tiny.requests[-1][0].method == method


def test_replicas_say_how_far_they_are(run: Any, tiny: Any) -> None:
    run("edit", PERU, "Cusco")
    tiny.replica_lags = True
    lines = [line.split() for line in run("replicas").stdout.splitlines()]
    assert lines[1][:5] == ["nkb#1", "nkb", "1", "0", "well"]
    assert lines[2][:5] == ["nkb#2", "nkb", "0", "1", "well"]


def test_a_replica_that_is_not_well_says_why(run: Any, tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = tiny.replicas()
    ill = [
        first.model_copy(update={"healthy": False, "degraded": "ledger_corrupt"}),
        second.model_copy(update={"healthy": False}),
    ]
    monkeypatch.setattr(tiny, "replicas", lambda: ill)
    lines = run("replicas").stdout.splitlines()
    assert "  unwell: ledger_corrupt  " in lines[1]
    assert lines[2].split()[4:6] == ["unwell", "nkb/bank"]


def test_replicas_are_told_with_the_process_to_stop_and_where_it_is(
    run: Any, tiny: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = tiny.replicas()
    replicas = [first.model_copy(update={"host": "errata-worker-b", "pid": 4711}), second]
    monkeypatch.setattr(tiny, "replicas", lambda: replicas)
    lines = run("replicas").stdout.splitlines()
    assert "  4711 on errata-worker-b  " in lines[1]
    assert "  -  " in lines[2]


def test_replicas_that_hold_different_bits_are_news(
    run: Any, tiny: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = tiny.replicas()
    assert "disagree" not in run("replicas").stdout
    other = second.model_copy(update={"checksums": {"nkb/bank": "sha256:" + "f" * 64}})
    monkeypatch.setattr(tiny, "replicas", lambda: [first, other])
    assert "warning: replicas disagree on nkb/bank at version 0\n" in run("replicas").stdout


def test_no_replica_at_all_is_said(run: Any, tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiny, "replicas", list)
    assert run("replicas").stdout == "No replica has reported yet.\n"


def test_models_are_listed_with_what_they_say_of_themselves(run: Any) -> None:
    lines = [line.split() for line in run("models").stdout.splitlines()]
    assert lines[1] == ["nkb", "nkb/bank", "gated,", "surgery", "2", "ready"]
    assert ["slots", "4,096"] in lines


def test_numbers_of_models_are_rounded_and_said_in_words() -> None:
    details = {"unsure_below": 0.8464925491051568, "mean_cost": 12.3456789}
    card = wire.ModelCard(id="nkb", memories=[], methods=[], ready=True, replicas=1, details=details)
    console = Console(file=StringIO())
    console.print(draw_models(wire.ModelList(data=[card])))
    text: str = console.file.getvalue()  # type: ignore[attr-defined]
    assert [line.split() for line in text.splitlines()[-2:]] == [
        ["unsure", "below", "85", "%"],
        ["mean", "cost", "12.35"],
    ]


def test_memory_and_key_are_shown(run: Any) -> None:
    assert run("memory").stdout == (
        "Version 0: 0 active edits, 0 taken back, 0 replaced\n  nkb/bank  sha256:" + "0" * 64 + "\n"
    )
    assert run("whoami").stdout == "curator: may read, edit\n"


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        ("check", wire.CheckReport),
        ("replicas", wire.ReplicaList),
        ("models", wire.ModelList),
        ("memory", wire.MemoryState),
        ("whoami", wire.Whoami),
    ],
)
def test_json_is_what_the_service_sent(run: Any, command: str, kind: Any) -> None:
    assert kind.model_validate_json(run(command, "--json").stdout)
