"""Runs the command as a shell would, against the tiny service, in an empty folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from errata.cli.app import build_cli
from typer.testing import CliRunner, Result

Run = Callable[..., Result]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder; no key and no address come from outside."""
    for name in ("ERRATA_URL", "ERRATA_KEY", "COLUMNS", "FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(url: str, folder: Path) -> Run:
    """Return a function: run("log", "--json") -> exit_code, stdout, stderr."""

    def command(*words: str, key: str | None = "right-key") -> Result:
        variables = {"ERRATA_URL": url} | ({} if key is None else {"ERRATA_KEY": key})
        result = CliRunner().invoke(build_cli(*words[:1]), list(words), env=variables)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return command
