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
