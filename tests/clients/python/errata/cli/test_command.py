"""The common parts of all commands: the source of the key, failures, and progress for a person who waits."""

from __future__ import annotations

import io
import json
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
import typer
from errata.cli.app import build_cli
from errata.cli.key import find_key
from errata.cli.progress import ProgressDisplay
from fastapi.responses import PlainTextResponse
from rich.console import Console
from typer.testing import CliRunner

COMMANDS = sorted(
    str(command.name or command.callback.__name__)
    for command in build_cli().registered_commands
    if command.callback
)


@pytest.fixture
def key_file(folder: Path) -> Path:
    (folder / "var").mkdir()
    file = folder / "var" / "admin.key"
    file.write_text("right-key\n")
    return file


def test_the_commands_are_those_that_are_documented() -> None:
    expected_lines = (
        "approve ask audit backup change check diff edit entities entity export fact gaps import log mcp memory "
        "models proposals propose reject relation replicas restore revert review reviews rollback scope senses show "
        "tag tags untag whoami why"
    )
    assert expected_lines.split() == COMMANDS


def list_commands(command: Any) -> list[Any]:
    """Return a command of Typer, or all those of a group."""
    parts = getattr(command, "commands", {}).values()
    return [leaf for part in parts for leaf in list_commands(part)] or [command]


def test_every_option_is_described_and_none_has_the_form_of_another() -> None:
    commands = list_commands(typer.main.get_command(build_cli()))
    assert len(commands) > len(COMMANDS)
    for command in commands:
        options = [option for option in command.params if option.param_type_name == "option"]
        forms = [form for option in options for form in (*option.opts, *option.secondary_opts)]
        assert "--url" in forms
        assert [option.name for option in options if not option.help] == [], command.name
        assert len(set(forms)) == len(forms), command.name


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself_and_takes_the_options_of_all(command: str) -> None:
    result = CliRunner().invoke(build_cli(command), [command, "--help"], env={"COLUMNS": "200"})
    assert result.exit_code == 0
    assert [option for option in ("--url", "--key", "--json") if option not in result.stdout] == []


@pytest.mark.parametrize("command", ["log", "audit"])
def test_a_time_that_cannot_be_read_is_refused_with_examples(command: str, run: Any) -> None:
    refused = run(command, "--since", "10 minutes ago")
    assert refused.exit_code == 2
    assert all(example in refused.stderr for example in ("2026-11-22 or", "'2026-11-22 14:30'"))
    for day in ("2026-11-22", "2026-11-22 14:30", "2026-11-22T14:30:05+01:00"):
        assert run(command, "--since", day).exit_code != 2


def test_the_key_that_the_service_left_is_found_from_below(
    run: Any, key_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    below = key_file.parents[1] / "a" / "b"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    assert run("log", key=None).exit_code == 0


def test_the_key_of_this_machine_is_not_sent_to_another(key_file: Path, folder: Path) -> None:
    assert find_key(None, "http://127.0.0.1:8000", folder).value == "right-key"
    assert find_key(None, "https://errata.example.com", folder).value is None


def test_without_a_key_it_is_said_how_to_give_one(run: Any) -> None:
    result = run("log", key=None)
    assert result.exit_code == 1
    assert "error: this route needs a key [unauthorized]" in result.stderr
    assert "No key was sent" in result.stderr
    assert "--key or ERRATA_KEY" in result.stderr


def test_a_key_that_is_refused_is_named_by_its_source_and_never_printed(run: Any, key_file: Path) -> None:
    key_file.write_text("out-of-date")
    result = run("log", key=None)
    assert f"the one in {key_file}; it belongs to another service, or is out of date" in result.stderr
    assert "out-of-date" not in result.stderr + result.stdout


@pytest.mark.parametrize("command", ["log", "memory", "check", "whoami"])
def test_nobody_listening_is_exit_code_3(run: Any, command: str) -> None:
    result = run(command, "--url", "http://127.0.0.1:9")
    assert (result.exit_code, result.stdout) == (3, "")
    assert "cannot reach Errata at http://127.0.0.1:9: Connection refused" in result.stderr
    assert "make serve" in result.stderr


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (("ask", ""), "question"),
        (("ask", " "), "question"),
        (("ask", "q" * 2_001), "question"),
        (("ask", "q", "--at", "-1"), "version"),
        (("ask", "q", "--at", "1", "--min-version", "2"), "min_version 2"),
        (("ask", "q", "--model", ""), "model"),
        (("edit", "", "a"), "question"),
        (("edit", "q", ""), "answer"),
        (("edit", "q", "a", "--also", ""), "paraphrases.0"),
        (("edit", "q", "a", "-m", "m" * 2_001), "message"),
    ],
)
def test_what_cannot_be_asked_is_wrong_usage_and_not_sent(
    run: Any, tiny: Any, words: tuple[str, ...], name: str
) -> None:
    result = run(*words)
    assert (result.exit_code, result.stdout, tiny.requests) == (2, "", [])
    assert result.stderr.startswith("error: ")
    assert name in result.stderr


@pytest.mark.parametrize(
    ("status", "code", "exit_code"),
    [
        (400, "malformed_json", 2),
        (422, "invalid_input", 2),
        (422, "edit_refused", 1),
        (413, "too_large", 1),
        (404, "unknown_model", 1),
    ],
)
def test_wrong_usage_that_only_the_service_sees_has_the_same_code(
    run: Any, trouble: Any, status: int, code: str, exit_code: int
) -> None:
    trouble(status, code)
    assert run("edit", "q", "a").exit_code == exit_code


def test_a_script_that_asked_for_json_gets_the_problem_as_json(run: Any) -> None:
    result = run("show", "99", "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["code"] == "not_found"
    assert "no version 99" in result.stderr


def test_an_error_cannot_steer_the_terminal(run: Any, tiny: Any) -> None:
    tiny.trouble = [PlainTextResponse("\x1b]0;owned\x07", status_code=500)]
    assert "\x1b" not in run("memory").stderr


def interrupt(request: httpx.Request) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize(("words", "has_warning"), [(("edit", "q", "a"), True), (("ask", "q"), False)])
def test_a_curator_who_interrupts_an_edit_is_told_to_look(
    run: Any, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], has_warning: bool
) -> None:
    monkeypatch.setattr(httpx.Client, "send", lambda _, request, **__: interrupt(request))
    result = run(*words)
    assert result.exit_code == 130
    assert ("the change may be made all the same" in result.stderr) is has_warning
    assert ("Repeat it with --idempotency-key " in result.stderr) is has_warning


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Console:
    monkeypatch.setenv("TERM", "xterm")
    return Console(file=io.StringIO(), force_terminal=True)


def shown_on(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_a_person_who_waits_is_told_for_what(terminal: Console) -> None:
    with ProgressDisplay(terminal, "Editing", patience_s=0.01):
        deadline = time.monotonic() + 60
        while "Editing" not in shown_on(terminal):
            assert time.monotonic() < deadline, "no spinner came"
            time.sleep(0.01)
