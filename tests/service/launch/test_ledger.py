"""The embedded server is restarted for as long as the service runs, whatever prevents it for a while."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from service.launch import ledger as launch
from service.ledger.embedded.server import EmbeddedValkey
from tests.service.ledger.processes import kill, pid_of


class Fails:
    """A server whose restart fails each time for the next of these reasons, and then succeeds."""

    def __init__(self, *reasons: Exception) -> None:
        self.times: list[float] = []
        self._reasons = iter(reasons)

    def revive(self) -> bool:
        self.times.append(time.monotonic())
        for reason in self._reasons:
            raise reason
        return False


def watch(valkey: Fails, looks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "CHECK_EVERY_S", 0.01)
    with launch.keep_alive(valkey):  # type: ignore[arg-type]
        until(lambda: len(valkey.times) >= looks)


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_an_error_of_the_system_is_not_the_end_of_looking(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    valkey = Fails(OSError(28, "No space left on device"), RuntimeError("what nobody foresaw"))
    watch(valkey, 4, monkeypatch)
    assert ["No space" in caplog.messages[0], "nobody foresaw" in caplog.messages[1]] == [True, True]


def test_a_server_that_died_while_its_folder_was_blocked_comes_back_when_it_is_not(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    config = tmp_path / "valkey.conf"
    with EmbeddedValkey(tmp_path) as valkey, launch.keep_alive(valkey), caplog.at_level(logging.WARNING):
        first = pid_of(valkey)
        config.unlink()
        config.mkdir()
        kill(first)
        until(lambda: any("cannot be started" in message for message in caplog.messages))
        config.rmdir()
        until(lambda: valkey.alive and pid_of(valkey) != first)
