"""The admin key is made once, readable by its owner alone, and a weak one is refused."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from service.access.api_keys import BadKey, generate_key, load_admin_key


def test_the_first_start_makes_a_key_and_the_next_one_finds_it(tmp_path: Path) -> None:
    first = load_admin_key(tmp_path, None)
    assert len(first) >= 40
    assert load_admin_key(tmp_path, None) == first
    assert [path.name for path in tmp_path.iterdir()] == ["admin.key"]


def test_two_services_never_have_the_same_key(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    assert load_admin_key(tmp_path / "a", None) != load_admin_key(tmp_path / "b", None)


def test_only_its_owner_can_read_it_even_when_somebody_changed_that(tmp_path: Path) -> None:
    load_admin_key(tmp_path, None)
    (tmp_path / "admin.key").chmod(0o644)
    load_admin_key(tmp_path, None)
    assert stat.S_IMODE((tmp_path / "admin.key").stat().st_mode) == 0o600


def test_a_file_system_without_hard_links_will_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "link", _cannot)
    assert load_admin_key(tmp_path, None) == load_admin_key(tmp_path, None)
    assert [path.name for path in tmp_path.iterdir()] == ["admin.key"]


def test_a_key_that_cannot_be_closed_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load_admin_key(tmp_path, None)
    monkeypatch.setattr(Path, "chmod", _cannot)
    assert load_admin_key(tmp_path, None), "it is closed already"
    os.chmod(tmp_path / "admin.key", 0o644)
    with pytest.raises(BadKey, match=r"others may read .*admin\.key"):
        load_admin_key(tmp_path, None)


def _cannot(*_: object) -> None:
    raise PermissionError(1, "Operation not permitted")


def test_a_key_from_outside_is_used_and_written_nowhere(tmp_path: Path) -> None:
    assert load_admin_key(tmp_path, "from-the-environment") == "from-the-environment"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "weak", ["", "qwertz", "with spaces in the middle of it", "tab\tin-the-middle-of-it"]
)
def test_a_weak_key_is_refused_and_not_repeated(tmp_path: Path, weak: str) -> None:
    with pytest.raises(BadKey, match="ERRATA_ADMIN_KEY") as refusal:
        load_admin_key(tmp_path, weak)
    assert not weak or weak not in str(refusal.value)


@pytest.mark.parametrize("place", ["variable", "file"])
def test_a_key_that_was_issued_to_somebody_is_no_admin_key(tmp_path: Path, place: str) -> None:
    """Its owner would have become the admin of a new service, if it was exported for the command."""
    curators_key = generate_key("anna")
    (tmp_path / "admin.key").write_text(curators_key)
    with pytest.raises(BadKey, match="looks like the one that was issued to 'anna': give another") as refusal:
        load_admin_key(tmp_path, curators_key if place == "variable" else None)
    assert curators_key not in str(refusal.value)


def test_an_empty_key_file_opens_nothing(tmp_path: Path) -> None:
    (tmp_path / "admin.key").touch()
    with pytest.raises(BadKey, match=r"admin\.key"):
        load_admin_key(tmp_path, None)
