"""The embedded server is restarted for as long as the service runs, whatever prevents it for a while."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from service.errors import LedgerUnavailable
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


def test_one_reason_is_said_once_though_its_numbers_change(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    reasons = [LedgerUnavailable(f"{pid}:M 09:00:0{pid} # the disk is full") for pid in range(4)]
    watch(Fails(*reasons, LedgerUnavailable("no such program")), 7, monkeypatch)
    assert caplog.messages == ["0:M 09:00:00 # the disk is full", "no such program"]


def test_the_pause_grows_while_it_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    valkey = Fails(*[OSError("full")] * 5)
    watch(valkey, 7, monkeypatch)
    pauses = [later - earlier for earlier, later in zip(valkey.times, valkey.times[1:], strict=False)]
    assert pauses[4] >= 0.01 * 2**5 > pauses[5], "and is short again once it runs"


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
