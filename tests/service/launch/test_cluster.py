"""Ray is given more than one chance to start, and is stopped one call after the other."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from service.config import Settings
from service.launch import cluster
from service.launch.places import Places, claimed, free_port
from service.launch.trouble import CannotStart

BUSY = Exception("The current node timed out during startup. This could happen because ...")


@pytest.fixture
def places(tmp_path: Path) -> Iterator[Places]:
    with claimed(tmp_path / "var", "127.0.0.1", free_port()) as places:
        yield places


@pytest.fixture
def settings(places: Places) -> Settings:
    return Settings(var=places.var, admin_key_sha256="0" * 64)


def starts(monkeypatch: pytest.MonkeyPatch, *fails: Exception) -> list[Exception]:
    """Ray fails in these ways, one start after the other, and then no more. What is left of them."""
    left = list(fails)

    def init(*_: Any) -> None:
        if left:
            raise left.pop(0)

    monkeypatch.setattr(cluster, "_init", init)
    return left


def test_a_start_that_took_too_long_is_made_again(
    settings: Settings, places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = starts(monkeypatch, BUSY, BUSY)
    cluster._start(settings, places)
    assert left == []


def test_a_machine_that_stays_too_busy_is_told_of(
    settings: Settings, places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    starts(monkeypatch, *[BUSY] * cluster.ATTEMPTS)
    with pytest.raises(CannotStart, match="too busy"):
        cluster._start(settings, places)


def test_what_no_further_start_would_mend_is_not_tried_again(
    settings: Settings, places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = starts(monkeypatch, RuntimeError("no such library"), BUSY)
    with pytest.raises(RuntimeError, match="no such library"):
        cluster._start(settings, places)
    assert left == [BUSY]


def test_what_hangs_in_stopping_holds_nobody_up_and_is_not_overtaken() -> None:
    released, stopped = threading.Event(), threading.Event()

    def hangs() -> None:
        released.wait(10)

    cluster.within(0.01, hangs)
    cluster.within(0.01, stopped.set)
    assert not stopped.is_set()
    released.set()
    assert stopped.wait(10)
