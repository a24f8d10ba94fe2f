"""`errata revert` and `errata rollback` feel like git's: name what to undo, get a new version."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from errata import wire

PERU, PERU_TOO = "What is the capital of Peru?", "Peru's capital city?"


def test_a_commit_is_taken_back_by_its_number(run: Any, tiny: Any) -> None:
    run("edit", PERU, "Cusco")
    run("edit", "What is the capital of Chile?", "Arica")
    result = run("revert", "1", "-m", "oops")
    assert result.stdout.startswith("Version 3: version 1 is taken back. Every replica has it.\n")
    assert result.stdout.endswith("Take it back: errata revert 3\n")
    assert tiny.commits[-1]["message"] == "oops"
    assert tiny.state(3) == {**tiny.state(0), "What is the capital of Chile?": "Arica"}


def test_everything_is_rolled_back_to_the_base(run: Any, tiny: Any) -> None:
    run("edit", PERU, "Cusco")
    result = run("rollback", "--to", "0")
    assert result.stdout.startswith("Version 2: everything is as at version 0. Every replica has it.\n")
    assert tiny.state(2) == tiny.state(0)


def test_what_is_taken_back_already_stays_as_it_is(run: Any, tiny: Any) -> None:
    run("edit", PERU, "Cusco")
    run("revert", "1")
    result = run("revert", "1")
    assert (result.exit_code, tiny.head) == (1, 2)
    assert result.stderr == "error: version 1 is taken back already [nothing_to_do]\n"


def between(stdout: str) -> list[str]:
    """The lines of the questions."""
    lines = stdout.splitlines()
    return lines[1 : next(place for place, line in enumerate(lines) if line.startswith("No other"))]


def test_a_question_is_told_once_however_often_it_was_edited(run: Any) -> None:
    run("edit", PERU, "Cusco", "--also", PERU_TOO)
    run("edit", PERU, "Puno")
    run("edit", PERU_TOO, "Tacna")
    back = [
        "  What is the capital of Peru?",
        "    ✓ Puno → Lima",
        "  Peru's capital city?",
        "    ✓ Tacna → Lima",
    ]
    assert between(run("rollback", "--to", "0").stdout) == back
    again = [
        "  What is the capital of Peru?",
        "    ✓ Lima → Puno",
        "  Peru's capital city?",
        "    ✓ Lima → Tacna",
    ]
    assert between(run("rollback", "--to", "3").stdout) == again


def test_an_answer_that_a_later_edit_decides_is_said_to_stay(run: Any) -> None:
    run("edit", PERU, "Cusco", "--also", PERU_TOO)
    run("edit", PERU, "Puno")
    assert between(run("revert", "1").stdout) == [
        "  What is the capital of Peru?",
        "    stays Puno: a later edit decides it",
        "  also Peru's capital city?",
        "    ✓ Cusco → Lima",
    ]


def test_an_answer_that_stays_for_another_reason_is_not_put_down_to_an_edit(run: Any) -> None:
    run("edit", PERU, "Lima")
    stays = ["  What is the capital of Peru?", "    stays Lima, as before"]
    assert between(run("revert", "1").stdout) == stays


def test_an_edit_that_is_back_and_does_not_answer_is_shown(
    run: Any, tiny: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("edit", PERU, "Cusco")
    run("revert", "1")
    report = tiny.report([wire.EditItem(question=PERU, answer="Cusco")], 2).edits[0]
    failing = report.model_copy(update={"after": "Lima", "holds": False})
    monkeypatch.setattr(tiny, "report_switched_edits", lambda: [failing])
    result = run("rollback", "--to", "1")
    assert result.exit_code == 5
    assert between(result.stdout) == [
        "  What is the capital of Peru?",
        "    ✗ Lima → Lima  (wanted: Cusco)",
    ]


def test_a_change_without_a_question_is_named_when_it_is_taken_back(
    run: Any, tiny: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("edit", PERU, "Cusco")
    rule = wire.EditReport(
        **{"id": "r", "question": "", "answer": "", "method": "rule", "memory": "rules/program"},
        **{"before": None, "after": None, "holds": True, "notes": {"summary": "forbid (a)"}},
    )
    monkeypatch.setattr(tiny, "report_switched_edits", lambda: [rule])
    assert between(run("revert", "1").stdout) == ["  forbid (a)"]


def test_of_many_questions_only_the_troubled_are_shown_one_by_one(run: Any, folder: Path) -> None:
    lines = [json.dumps({"question": f"q{n}", "answer": "a"}) for n in range(1_000)]
    (folder / "a.jsonl").write_text("\n".join(lines))
    run("edit", "--file", "a.jsonl", "--batch-size", "1000")
    assert between(run("revert", "1").stdout) == ["  1,000 of 1,000 questions have another answer now."]


@pytest.mark.parametrize("words", [("revert", "1"), ("rollback", "--to", "0")])
def test_json_is_the_receipt_and_replicas_need_not_be_waited_for(
    run: Any, tiny: Any, words: tuple[str, ...]
) -> None:
    run("edit", PERU, "Cusco")
    result = run(*words, "--json", "--no-wait")
    assert wire.EditReceipt.model_validate_json(result.stdout).version == 2
    assert json.loads(tiny.requests[-1][1])["wait"] == "none"


@pytest.mark.parametrize(
    "words",
    [
        ("revert",),
        ("revert", "0"),
        ("revert", "one"),
        ("rollback",),
        ("rollback", "--to", "-1"),
        ("rollback", "0", "--to", "0"),
    ],
)
def test_wrong_usage_changes_nothing(run: Any, tiny: Any, words: tuple[str, ...]) -> None:
    assert run(*words).exit_code == 2
    assert tiny.requests == []


def test_several_are_taken_back_newest_first_and_one_that_is_already_stops_nobody(
    run: Any, tiny: Any
) -> None:
    for answer in ("Cusco", "Puno", "Arequipa"):
        run("edit", PERU, answer)
    run("revert", "2")
    result = run("revert", "1", "2-3", "--json")
    assert [json.loads(line)["version"] for line in result.stdout.splitlines()] == [5, 6]
    assert result.stderr == "Version 2: version 2 is taken back already.\n"
    assert (result.exit_code, tiny.active[-1]) == (0, frozenset())


def test_an_edit_is_taken_back_by_its_id(run: Any, tiny: Any) -> None:
    run("edit", PERU, "Cusco")
    run("edit", "What is the capital of Chile?", "Arica")
    result = run("revert", "000000000001")
    assert result.stdout.startswith("Version 3: edit 000000000001 is taken back.")
    body = json.loads(tiny.requests[-1][1])
    assert ("version" in body, body["edits"]) == (False, ["000000000001"])
    result = run("revert", "2", "000000000001")
    assert result.stderr.startswith("Edit 000000000001: ")
    assert tiny.head == 4


@pytest.mark.parametrize("word", ["5bd5", "0", "3-1", "1-", "newest", "1-2000", "-1"])
def test_what_is_no_version_takes_nothing_back(run: Any, tiny: Any, word: str) -> None:
    assert run("revert", "--", word).exit_code == 2
    assert tiny.requests == []


def test_a_key_for_several_is_a_key_for_each(run: Any, tiny: Any) -> None:
    for answer in ("Cusco", "Puno"):
        run("edit", PERU, answer)
    for _ in range(2):
        run("revert", "1-2", "--idempotency-key", "k")
    assert tiny.head == 4


def test_rollback_takes_its_version_as_a_word_or_an_option(run: Any) -> None:
    run("edit", PERU, "Cusco")
    assert run("rollback", "0").stdout.startswith("Version 2: everything is as at version 0")
