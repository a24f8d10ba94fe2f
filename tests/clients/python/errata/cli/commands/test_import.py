"""`errata import`: a file becomes one commit, rejected lines are listed, and an import in doubt is reported as such."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from errata import files

GOOD, BAD = "Peru\tcapital\tLima\n", "no triple\n"


@pytest.fixture
def file(folder: Path) -> Path:
    (folder / "peru.tsv").write_text(GOOD * 2 + BAD)
    return folder / "peru.tsv"


def test_every_option_reaches_the_service(run: Any, tiny: Any, file: Path) -> None:
    options = ("--format", "tsv", "--language", "de", "-m", "m", "--dry-run", "--expect", "0", "--no-wait")
    result = run("import", "peru.tsv", *options)
    assert result.stdout.startswith("Dry run: an import of 2 triples would do this; nothing was changed.\n")
    assert "Take it back" not in result.stdout
    assert dict(tiny.requests[-1][0].query_params) == {
        "format": "tsv",
        "language": "de",
        "source": "peru.tsv",
        "message": "m",
        "dry_run": "true",
        "expected_version": "0",
        "wait": "none",
    }


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("absent.tsv", "absent.tsv cannot be read: No such file or directory; nothing was changed"),
        (".", "cannot be read: Is a directory"),
        ("empty.tsv", "empty.tsv is empty"),
    ],
)
def test_a_file_that_cannot_be_used_is_named(run: Any, tiny: Any, folder: Path, name: str, why: str) -> None:
    (folder / "empty.tsv").touch()
    result = run("import", name)
    assert (result.exit_code, result.stdout, tiny.requests) == (2, "", [])
    assert why in result.stderr


def test_what_the_service_cannot_read_is_told_in_its_words(run: Any, tiny: Any, file: Path) -> None:
    detail = "the format cannot be told from the first line: name it"
    problem = {"title": "Invalid", "status": 422, "code": "invalid_input", "detail": detail}
    tiny.told_of_import = [{"problem": problem}]
    result = run("import", "peru.tsv", "--json")
    assert (result.exit_code, json.loads(result.stdout)["detail"]) == (2, detail)
    assert f"error: {detail} [invalid_input]" in result.stderr


def test_a_stream_that_breaks_off_leaves_a_doubt_and_says_where_to_look(
    run: Any, tiny: Any, file: Path
) -> None:
    tiny.told_of_import = [{"progress": {"phase": "committing", "done": 0}}]
    result = run("import", "peru.tsv")
    assert (result.exit_code, result.stdout) == (7, "")
    assert "the change may have been made" in result.stderr
    assert "Repeat it with --idempotency-key" in result.stderr


def test_who_interrupts_while_the_file_is_sent_is_told_that_nothing_was_imported(
    run: Any, tiny: Any, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(files.Upload, "_count", lambda *_: interrupt(None))
    result = run("import", "peru.tsv")
    assert result.exit_code == 130
    assert "Interrupted before all of it was sent: nothing was imported." in result.stderr
    assert tiny.head == 0
