"""Output that cannot be written ends the command with one sentence at most, and a special exit code."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import errata
import pytest

ERRATA = f"""errata() {{ {sys.executable} -c 'from errata.cli import main; main()' "$@"; }}"""
FULL = "error: the output cannot be written: No space left on device\n"
WORDS = [("log",), ("log", "--json"), ("ask", "What is the capital of Peru?"), ("--help",), ("--version",)]


@pytest.fixture
def shell(url: str, folder: Path) -> Any:
    """Return a function that runs a line such as "errata log > /dev/full" in bash: a real process with real streams."""

    def run(line: str) -> subprocess.CompletedProcess[str]:
        variables = {"ERRATA_URL": url, "ERRATA_KEY": "right-key", "LANG": "C.UTF-8"}
        program = Path(errata.__file__).parents[1]
        return subprocess.run(
            ["bash", "-c", f"{ERRATA}\n{line}"],
            env={**os.environ, **variables, "PYTHONPATH": str(program)},
            capture_output=True,
            text=True,
            timeout=240,
        )

    return run


@pytest.mark.parametrize("words", WORDS, ids=" ".join)
def test_a_full_disk_is_one_sentence(shell: Any, words: tuple[str, ...]) -> None:
    result = shell(f"errata {' '.join(map(repr, words))} > /dev/full")
    assert (result.returncode, result.stderr) == (6, FULL)


@pytest.mark.parametrize("words", WORDS, ids=" ".join)
def test_a_reader_that_has_left_is_no_news(shell: Any, words: tuple[str, ...]) -> None:
    result = shell(f"{{ sleep 0.1; errata {' '.join(map(repr, words))}; echo $? > code; }} | true")
    assert (Path("code").read_text(), result.stderr) == ("6\n", "")


def test_an_edit_whose_receipt_cannot_be_written_is_made(shell: Any, tiny: Any) -> None:
    assert (shell("errata edit q a > /dev/full").returncode, tiny.head) == (6, 1)


def test_a_letter_that_the_terminal_cannot_show_becomes_a_question_mark(shell: Any) -> None:
    result = shell("errata edit q Łódź > /dev/null; PYTHONIOENCODING=ascii errata ask q")
    assert (result.returncode, result.stdout) == (0, "??d?\n")
