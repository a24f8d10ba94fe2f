"""`errata edit --file`: the report of many corrections, and going on with a command that was killed."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import httpx
import pytest

# A shell's background jobs ignore SIGINT, and so would the command that a test starts there.
PROGRAM = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from errata.cli import main
main()
"""
COMMAND = [sys.executable, "-c", PROGRAM]
LIMIT_S = 120.0  # a command needs a second to start, and more on a busy machine


def corrections(folder: Path, count: int) -> Path:
    file = folder / "a.csv"
    file.write_text("question,answer\n" + "".join(f"q{n},a{n}\n" for n in range(count)))
    return file


def report(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "r.jsonl").read_text().splitlines()]


def environment(url: str) -> dict[str, str]:
    return {**os.environ, "ERRATA_URL": url, "ERRATA_KEY": "right-key"}


def test_many_commits_are_told_as_one_and_taken_back_by_one_command(
    run: Any, tiny: Any, folder: Path
) -> None:
    corrections(folder, 7)
    result = run("edit", "--file", "a.csv", "--batch-size", "3", "-m", "all")
    assert (result.exit_code, result.stderr) == (0, "")
    assert [line.rstrip() for line in result.stdout.splitlines()] == [
        "Versions 1-3: 7 lines of a.csv. Every replica has it.",
        "  done    7    all hold",
        "Take it back: errata revert 1-3"
        " (or in one step, while nothing else has been changed: errata rollback --to 0)",
    ]
    output = run("revert", "1-3").stdout.splitlines()
    assert [line for line in output if line.startswith("Version")] == [
        "Version 4: version 3 is taken back. Every replica has it.",
        "Version 5: version 2 is taken back. Every replica has it.",
        "Version 6: version 1 is taken back. Every replica has it.",
    ]
    assert sum(line.startswith("    ✓ ") for line in output) == 7
    assert tiny.active[-1] == frozenset()


def test_every_kind_of_line_is_counted_and_the_report_tells_of_each(
    run: Any, tiny: Any, folder: Path
) -> None:
    tiny.unspeakable = "ugh"
    (folder / "a.csv").write_text("question,answer,paraphrases\nq1,a,\nq2,\nq3,ugh,\nq1,b,p\nQ1?,b,\nq4,a,\n")
    result = run("edit", "-f", "a.csv", "--skip-bad", "--batch-size", "2", "--report", "r.jsonl")
    lines = [line.rstrip() for line in result.stdout.splitlines()]
    assert lines[0] == "Versions 1-2: 2 lines of a.csv. Every replica has it."
    assert [line.split()[:2] for line in lines[1:5]] == [
        ["done", "2"],
        ["duplicate", "1"],
        ["replaced", "1"],
        ["refused", "2"],
    ]
    assert lines[1].endswith("all hold, 1 of 1 other wordings follow")
    assert "  a.csv:4: refused: a.csv:4 cannot be said" in lines
    assert "  a.csv:2: replaced: a.csv:5 gives another answer" in lines
    assert "  a.csv:6: duplicate: a.csv:5 says the same" in lines
    rows = [(row["line"], row["status"], row["code"], row["version"]) for row in report(folder)]
    assert rows == [
        (2, "replaced", "superseded", None),
        (3, "refused", "bad_line", None),
        (4, "refused", "unspeakable", None),
        (5, "done", "", 1),
        (6, "duplicate", "", None),
        (7, "done", "", 2),
    ]
    assert result.stderr == "r.jsonl says what happened to each of 6 lines.\n"


def test_bad_lines_are_named_with_what_to_do_and_nothing_is_changed(
    run: Any, tiny: Any, folder: Path
) -> None:
    tiny.unspeakable = "ugh"
    file = corrections(folder, 6_998)
    file.write_text(file.read_text() + "q,ugh\nr,a\n")
    result = run("edit", "--file", "a.csv", "--report", "r.csv")
    assert (result.exit_code, result.stdout, tiny.head) == (2, "", 0)
    assert result.stderr == (
        "r.csv says what happened to each of 7,000 lines.\n"
        "error: 1 of 7,000 lines is refused by the service; nothing was changed\n"
        "  a.csv:7000: a.csv:7000 cannot be said\n"
        "hint: Correct them, or leave them out with --skip-bad; --report FILE writes what is wrong with each.\n"
    )
    with (folder / "r.csv").open(newline="") as rows:
        statuses = [row["status"] for row in csv.DictReader(rows)]
    assert [statuses.count(status) for status in ("not sent", "refused")] == [6_999, 1]


def test_of_many_bad_lines_the_first_are_shown(run: Any, tiny: Any, folder: Path) -> None:
    (folder / "a.csv").write_text("question,answer\n" + "q,\n" * 9)
    result = run("edit", "--file", "a.csv")
    assert "error: 9 of 9 lines cannot be used; nothing was changed\n" in result.stderr
    assert result.stderr.count("answer: is missing") == 5
    assert "  and 4 more lines\n" in result.stderr
    assert tiny.requests == []


def test_where_all_is_said_already_nothing_is_changed_and_that_is_no_failure(
    run: Any, tiny: Any, folder: Path
) -> None:
    corrections(folder, 2)
    run("edit", "--file", "a.csv")
    result = run("edit", "--file", "a.csv", "--batch-size", "1")
    assert (result.exit_code, tiny.head) == (0, 1)
    assert [line.rstrip() for line in result.stdout.splitlines()] == [
        "Nothing was changed: there was nothing to do.",
        "  no-op    2    answered so already",
    ]


def test_json_is_one_receipt_a_line(run: Any, folder: Path) -> None:
    corrections(folder, 5)
    output = run("edit", "--file", "a.csv", "--batch-size", "2", "--json").stdout.splitlines()
    assert [json.loads(line)["version"] for line in output] == [1, 2, 3]


def test_a_run_that_breaks_off_says_how_far_it_came_and_how_to_go_on(
    run: Any, tiny: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corrections(folder, 6)
    edit, problems = tiny.edit, [KeyError("the service has a fault")]

    def failing(body: Any) -> Any:
        if tiny.head == 2 and body.measure and problems:
            raise problems.pop()
        return edit(body)

    monkeypatch.setattr(tiny, "edit", failing)
    broken = run("edit", "--file", "a.csv", "--batch-size", "2", "--report", "r.jsonl")
    assert broken.exit_code == 7
    assert broken.stderr.splitlines()[:2] == [
        "So far 4 of 6 lines of a.csv are made, in versions 1-2.",
        "The same command again makes the rest. Take it back: errata revert 1-2"
        " (or in one step, while nothing else has been changed: errata rollback --to 0)",
    ]
    assert "run the same file again, in the same way: what was made is found" in broken.stderr
    assert [row["status"] for row in report(folder)] == ["done"] * 4 + ["not sent"] * 2
    again = run("edit", "--file", "a.csv", "--batch-size", "2", "--report", "r.jsonl")
    assert "Versions 1-2 had been made before." in again.stdout
    assert [row["version"] for row in report(folder)] == [1, 1, 2, 2, 3, 3]
    assert (again.exit_code, tiny.head) == (0, 3)


@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGINT])
def test_a_command_that_is_killed_makes_the_rest_when_it_is_given_again(
    url: str, tiny: Any, folder: Path, sign: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is killed while it waits for the answer to its eighth commit."""
    corrections(folder, 40)
    edit, has_sent, is_killed = tiny.edit, threading.Event(), threading.Event()

    def waiting(body: Any) -> Any:
        if body.measure and tiny.head >= 7:
            has_sent.set()
            is_killed.wait(LIMIT_S)
        return edit(body)

    monkeypatch.setattr(tiny, "edit", waiting)
    words = [*COMMAND, "edit", "--file", "a.csv", "--batch-size", "1"]
    with subprocess.Popen(words, env=environment(url), stderr=subprocess.PIPE, text=True) as command:
        assert has_sent.wait(LIMIT_S)
        command.send_signal(sign)
        _, complaint = command.communicate()
    is_killed.set()
    assert 7 <= tiny.head < 40, complaint
    if sign == signal.SIGINT:
        assert "The same command again makes the rest. Take it back: errata revert 1-" in complaint
    finished = subprocess.run(words, env=environment(url), capture_output=True, text=True, check=True)
    assert finished.stdout.startswith("Versions 1-40: 40 lines of a.csv.")
    questions = [edit.question for commit in tiny.commits for edit in commit["edits"]]
    assert questions == [f"q{n}" for n in range(40)]


def test_ctrl_c_before_anything_is_made_says_so(
    run: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corrections(folder, 4)

    def interrupt(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(httpx.Client, "send", interrupt)
    result = run("edit", "--file", "a.csv")
    assert result.exit_code == 130
    assert "Nothing of a.csv is known to be made. The same command again makes" in result.stderr


def test_what_was_taken_back_is_not_told_as_made(run: Any, tiny: Any, folder: Path) -> None:
    corrections(folder, 4)
    run("edit", "--file", "a.csv", "--batch-size", "2")
    run("revert", "1-2")
    lines = run("edit", "--file", "a.csv", "--batch-size", "2", "--report", "r.jsonl").stdout.splitlines()
    assert [line.rstrip() for line in lines] == [
        "Nothing was changed: there was nothing to do.",
        "  taken back    4    made before, and taken back since",
        "Versions 1-2 of this file had been taken back, and that stays so: --again makes it anew.",
    ]
    assert [(row["status"], row["version"], row["holds"]) for row in report(folder)] == [
        ("taken back", version, None) for version in (1, 1, 2, 2)
    ]
    assert tiny.active[-1] == frozenset()
    assert run("edit", "--file", "a.csv", "--batch-size", "2", "--again").stdout.startswith(
        "Versions 5-6: 4 lines"
    )


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--report", "r.txt"), "r.txt: the name of a report ends in .jsonl or .csv"),
        (("--report", "no/where.csv"), "no/where.csv cannot be written: No such file or directory"),
        (("--batch-size", "1001"), "less than or equal to 1000"),
        (("--batch-size", "0"), "greater than or equal to 1"),
    ],
)
def test_a_wrong_option_changes_nothing(
    run: Any, tiny: Any, folder: Path, words: tuple[str, ...], complaint: str
) -> None:
    corrections(folder, 1)
    result = run("edit", "--file", "a.csv", *words)
    assert (result.exit_code, tiny.requests) == (2, [])
    assert complaint in " ".join(result.stderr.replace("│", " ").split())
