"""The examples of clients/README.md work as written."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import errata
import pytest

README = (Path(errata.__file__).parents[2] / "README.md").read_text(encoding="utf-8")


PERU = "What is the capital of Peru?"


def write_may(folder: Path) -> None:
    lines = ["question,answer,paraphrases", f"{PERU},Cusco,", "q1,a1,", "q2,a2,p2", "q3,a3,", f"{PERU},Puno,"]
    (folder / "may.csv").write_text("\n".join(lines))


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


@pytest.mark.parametrize(("block", "count"), [(0, 10), (1, 4), (2, 7)])
def test_the_commands_of_the_readme_run_in_their_order(
    run: Any, folder: Path, block: int, count: int
) -> None:
    (folder / "corrections.csv").write_text("question,answer\nq,a\n")
    write_may(folder)
    zsre = {"src": PERU, "alt": "Cusco", "rephrase": PERU, "answers": ["Lima"], "loc": "x?", "loc_ans": "x"}
    (folder / "zsre.json").write_text(json.dumps([zsre]))
    (folder / "triples.spo").write_text("Peru\tcurrency\tsol\nno triple\n")
    expected_lines, results = [], []
    for line in blocks("console")[block].splitlines():
        if line.startswith("$ errata "):
            results.append(run(*shlex.split(line)[2:]))
        elif line != "...":
            expected_lines.append(line)
    assert [result.exit_code for result in results] == [0] * count
    output = "".join(result.stdout + result.stderr for result in results)
    actual_lines = [line.rstrip() for line in output.splitlines()]
    assert [line for line in expected_lines if line not in actual_lines] == []


def test_the_program_of_the_readme_runs(url: str, tiny: Any, capsys: pytest.CaptureFixture[str]) -> None:
    program, _ = blocks("python")
    exec(program.replace("http://127.0.0.1:8000", url), {"key": "right-key", "pairs": [("q", "a")]})
    actual_lines = capsys.readouterr().out.splitlines()
    assert actual_lines == ["Cusco 1 ['e1']", "Lima", "somebody else has edited; the newest version is 2"]
    assert tiny.head == 2


def test_the_program_of_the_readme_that_sends_a_file_runs(
    url: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_may(folder)
    _, program = blocks("python")
    exec(program.replace("http://127.0.0.1:8000", url), {"key": "right-key"})
    actual_lines = capsys.readouterr().out.splitlines()
    assert actual_lines[0] == "checking 0 5"
    assert actual_lines[-1].startswith("[1, 2, 3] [(2, 'replaced', None), (3, 'done', 1), (4, 'done', 2)")
