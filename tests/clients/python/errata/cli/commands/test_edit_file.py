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
        "Take it back: errata revert 1-3, or in one step, if nothing came after: errata rollback --to 0",
        "  done    7    all hold",
    ]
    output = run("revert", "1-3").stdout.splitlines()
    assert [line for line in output if line.startswith("Version")] == [
        "Version 4: version 3 is taken back. Every replica has it. Take it back: errata revert 4",
        "Version 5: version 2 is taken back. Every replica has it. Take it back: errata revert 5",
        "Version 6: version 1 is taken back. Every replica has it. Take it back: errata revert 6",
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
    assert [line.split()[:2] for line in lines[2:6]] == [
        ["done", "2"],
        ["duplicate", "1"],
        ["replaced", "1"],
        ["refused", "2"],
    ]
    assert lines[2].endswith("all hold, 1 of 1 other wordings follow")
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
