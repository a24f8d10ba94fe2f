"""What is printed can be pasted into another terminal as it is."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from service.config import Settings
from service.launch.greeting import ready
from service.launch.places import Places


def greeting(var: Path, port: int = 8000) -> str:
    settings = Settings(var=var, admin_key_sha256="0" * 64, port=port)
    return ready(settings, Places(var, var / "log", var / "metrics", var / "ray", var / "valkey"), 12.3)


@pytest.fixture(autouse=True)
def _no_key(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("ERRATA_KEY", raising=False)
    monkeypatch.chdir(tmp_path)


def test_the_usual_place_needs_nothing_but_the_four_commands(tmp_path: Path) -> None:
    said = greeting(tmp_path / "var")
    commands = [shlex.split(line) for line in said.splitlines() if "/errata " in line]
    assert [words[1] for words in commands] == ["ask", "edit", "ask", "revert"]
    assert "export" not in said
    assert "http://127.0.0.1:8000" in said
    assert str(tmp_path / "var" / "admin.key") in said


def test_another_place_says_what_the_command_has_to_know(tmp_path: Path) -> None:
    said = greeting(tmp_path / "it's here", port=8123)
    assert "export ERRATA_URL=http://127.0.0.1:8123" in said
    (line,) = [line for line in said.splitlines() if "ERRATA_KEY=" in line]
    inner = line.partition("$(")[2].removesuffix(')"')
    assert shlex.split(inner) == ["cat", str(tmp_path / "it's here" / "admin.key")]


def test_a_key_of_ones_own_is_not_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ERRATA_KEY", "a-secret-that-is-mine")
    said = greeting(tmp_path / "elsewhere")
    assert "a-secret-that-is-mine" not in said
    assert "ERRATA_KEY" in said
