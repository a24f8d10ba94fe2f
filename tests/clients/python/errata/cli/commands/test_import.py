"""`errata import`: a file becomes one commit, rejected lines are listed, and an import in doubt is reported as such."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from errata import files, wire
from errata.cli import progress
from errata.cli.app import build_cli
from rich.console import Console
from typer.testing import CliRunner

GOOD, BAD = "Peru\tcapital\tLima\n", "no triple\n"


@pytest.fixture
def file(folder: Path) -> Path:
    (folder / "peru.tsv").write_text(GOOD * 2 + BAD)
    return folder / "peru.tsv"


def test_a_curator_reads_how_much_came_in_and_what_was_rejected(run: Any, file: Path) -> None:
    result = run("import", "peru.tsv", "-m", "fill")
    assert (result.exit_code, result.stderr) == (0, "")
    assert [line.rstrip() for line in result.stdout.splitlines()] == [
        "Version 1: 2 triples imported. Every replica has it.",
        "  triples     2 from 3 lines of tsv",
        "  entities    1, of which 1 are new",
        "1 line was rejected: columns 1",
        "  line    why it was rejected",
        "     3    three columns are needed, not 'no triple'",
        "No other answer of the facts that Errata came with changed: 12,722 questions compared.",
        "Take it back: errata revert 1",
    ]


def test_how_long_an_import_took_is_shown_on_request(run: Any, file: Path) -> None:
    assert "  time        0.5 s, 4 triples per s" in run("import", "peru.tsv", "-v").stdout


def test_of_many_rejected_lines_some_are_shown_and_all_that_are_listed_are_written(
    run: Any, file: Path, folder: Path
) -> None:
    file.write_text(GOOD + BAD * 30)
    result = run("import", "peru.tsv", "--rejected", "bad.tsv")
    assert result.stdout.count("three columns are needed") == 20
    assert "  and 10 more; --rejected FILE writes the first 30\n" in result.stdout
    assert "bad.tsv has 30 rejected lines." in result.stderr
    rows = (folder / "bad.tsv").read_text().splitlines()
    assert rows[:2] == ["line\tcode\treason", "2\tcolumns\tthree columns are needed, not 'no triple'"]
    assert len(rows) == 31


def test_every_option_reaches_the_service(run: Any, tiny: Any, file: Path) -> None:
    options = ("--format", "tsv", "--language", "de", "-m", "m", "--dry-run", "--expect", "0", "--no-wait")
    result = run("import", "peru.tsv", *options)
    assert result.stdout.startswith("Dry run: 2 triples would be imported; nothing was changed.\n")
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


def test_stdin_is_a_file_too(url: str, folder: Path, tiny: Any) -> None:
    variables = {"ERRATA_URL": url, "ERRATA_KEY": "right-key"}
    result = CliRunner().invoke(build_cli(), ["import", "-"], env=variables, input=GOOD)
    assert result.exit_code == 0
    request, body = tiny.requests[-1]
    assert (request.query_params["source"], body) == ("stdin", GOOD.encode())
    empty = CliRunner().invoke(build_cli(), ["import", "-"], env=variables, input="")
    assert (empty.exit_code, len(tiny.requests)) == (2, 1)
    assert "is empty" in empty.stderr


def test_json_is_the_receipt(run: Any, file: Path) -> None:
    result = run("import", "peru.tsv", "--json")
    assert wire.ImportReceipt.model_validate_json(result.stdout).counts.triples == 2


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


@pytest.mark.parametrize(
    "options",
    [("--format", "xml"), ("--language", "?"), ("--rejected", "absent/bad.tsv"), ("--expect", "newest")],
)
def test_wrong_usage_sends_nothing(run: Any, tiny: Any, file: Path, options: tuple[str, ...]) -> None:
    assert run("import", "peru.tsv", *options).exit_code == 2
    assert tiny.requests == []


def test_a_missing_key_is_said(run: Any, file: Path) -> None:
    result = run("import", "peru.tsv", key=None)
    assert result.exit_code == 1
    assert "error: this route needs a key [unauthorized]" in result.stderr


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


def test_who_interrupts_later_is_told_to_look(run: Any, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_: object, event: wire.ImportProgress) -> None:
        if event.phase == "committing":
            raise KeyboardInterrupt

    monkeypatch.setattr(progress.ProgressDisplay, "update", interrupt)
    result = run("import", "peru.tsv")
    assert result.exit_code == 130
    assert "the change may be made all the same: `errata log` shows it" in result.stderr


def make_event(phase: str, done: int, total: int | None = None, rejected: int = 0) -> wire.ImportProgress:
    return wire.ImportProgress(phase=phase, done=done, total=total, rejected=rejected)


def test_a_log_file_gets_a_line_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now_s[0])
    log = Console(file=io.StringIO(), width=200, highlight=False)
    showing = progress.ProgressDisplay(log)
    with showing:
        for now_s[0], event in (
            (1.0, make_event("sending", 1_000_000, 40_000_000)),
            (11.0, make_event("sending", 21_000_000, 40_000_000)),
            (12.0, make_event("sending", 40_000_000, 40_000_000)),
            (13.0, make_event("writing", 0, 90_000, 3)),
            (23.0, make_event("writing", 45_000, 90_000, 3)),
            (33.0, make_event("committing", 0)),
            (43.0, make_event("inventing\x07", 5)),
        ):
            showing.update(event)
    assert isinstance(log.file, io.StringIO)
    assert log.file.getvalue().splitlines() == [
        "Sending 21.0 of 40.0 MB, 2.0 MB per s, 9.5 s left",
        "Writing 45,000 of 90,000 triples, 4,500 triples per s, 10 s left, 3 lines rejected",
        "Committing",
        "inventing\\u0007",
    ]


@pytest.mark.parametrize("width", [40, 80, 120])
def test_a_person_sees_a_bar_that_fits(width: int) -> None:
    terminal = Console(file=io.StringIO(), width=width, force_terminal=True, highlight=False)
    with progress.ProgressDisplay(terminal) as showing:
        showing.update(make_event("sending", 12_345_678, 160_000_000, 3))
        showing.update(make_event("committing", 0))
    assert isinstance(terminal.file, io.StringIO)
    output = terminal.file.getvalue()
    assert "Committing" in output
