"""The printed text can be pasted into another terminal as it is."""

from pathlib import Path
from typing import Any

import pytest

from service.config import Settings
from service.launch.greeting import ready
from service.launch.places import Places

KEY = "the-key-that-was-made"


def greeting(var: Path, key: str | None = KEY, shows_key: bool = True, **fields: Any) -> str:
    settings = Settings(var=var, admin_key_sha256="0" * 64, **fields)
    places = Places(var, var / "log", var / "metrics", var / "ray", var / "valkey")
    return ready(settings, places, 12.3, key, shows_key)


@pytest.fixture(autouse=True)
def _somewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ERRATA_KEY", raising=False)


def test_the_key_that_was_made_is_shown_and_where_it_lies(tmp_path: Path) -> None:
    lines = [line.split() for line in greeting(tmp_path / "var").splitlines()]
    assert ["admin", "key", KEY] in lines
    assert ["key", "file", str(tmp_path / "var" / "admin.key")] in lines


def test_no_key_gets_into_a_log_that_takes_what_is_printed(tmp_path: Path) -> None:
    text = greeting(tmp_path / "var", shows_key=False)
    assert KEY not in text
    assert f"  key file   {tmp_path / 'var' / 'admin.key'}\n" in text


def test_a_terminal_that_has_the_key_of_another_service_gets_this_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ERRATA_KEY", "errata_anna_of-another-service")
    assert f'export ERRATA_KEY="$(cat {tmp_path / "var" / "admin.key"})"' in greeting(tmp_path / "var")
