"""The cluster of a service, and processes that were left behind by one."""

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from service.config import Settings
from service.launch import cluster
from service.launch import signals as exits
from service.launch.ledger import CannotStart
from service.launch.orphans import stop_orphans
from service.launch.places import Places

BUSY = Exception("The current node timed out during startup. This could happen because ...")


@pytest.fixture
def settings(places: Places) -> Settings:
    return Settings(var=places.var, admin_key_sha256="0" * 64)


def starts(monkeypatch: pytest.MonkeyPatch, *fails: BaseException) -> list[BaseException]:
    """Let Ray's starts fail in these ways, one after the other; return the failures that are left."""
    failures = list(fails)

    def init(*_: Any) -> None:
        if failures:
            raise failures.pop(0)

    monkeypatch.setattr(cluster, "_init", init)
    return failures


@pytest.fixture
def stopped_folders(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Return the folders whose processes were stopped."""
    folders: list[Path] = []
    monkeypatch.setattr(cluster, "stop_orphans", folders.append)
    monkeypatch.setattr(exits, "catch_signals", lambda: None)
    return folders


def test_a_start_that_took_too_long_is_made_again(
    settings: Settings, places: Places, stopped_folders: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines: list[str] = []
    failures = starts(monkeypatch, BUSY, RuntimeError("Failed to start GCS"))
    cluster._start(settings, places, lines.append)
    assert failures == []
    assert stopped_folders == [places.ray] * 2
    assert ["Trying again" in line for line in lines] == [True] * 2


def test_a_machine_that_stays_too_busy_is_told_of(
    settings: Settings, places: Places, stopped_folders: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    starts(monkeypatch, *[BUSY] * cluster.ATTEMPTS)
    with pytest.raises(CannotStart, match="too busy"):
        cluster._start(settings, places, str)
    assert stopped_folders == [places.ray] * cluster.ATTEMPTS


def test_what_no_further_start_would_mend_is_not_tried_again(
    settings: Settings, places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures = starts(monkeypatch, RuntimeError("no such library"), BUSY)
    with pytest.raises(RuntimeError, match="no such library"):
        cluster._start(settings, places, str)
    assert failures == [BUSY]


@pytest.mark.usefixtures("ctrl_c")
def test_sigterm_while_ray_starts_is_the_end(
    settings: Settings, places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ray takes over the signal, and ends the process."""
    failures = starts(monkeypatch, SystemExit(15), BUSY)
    with pytest.raises(exits.StopRequested):
        cluster._start(settings, places, str)
    assert failures == [BUSY]
    assert exits.is_stop_requested(), "a second one changes nothing"


def test_what_hangs_in_stopping_holds_nobody_up_and_is_not_overtaken() -> None:
    running, release, order = threading.Event(), threading.Event(), list[str]()

    def hangs() -> None:
        running.set()
        release.wait(10)
        order.append("hung")

    cluster.within(0.01, hangs)
    assert running.wait(10)
    cluster.within(0.01, lambda: order.append("given up"))
    threading.Timer(0.1, release.set).start()
    cluster.within(10, lambda: order.append("in time"))
    assert order == ["hung", "in time"]


HOLD = "import sys, time; file = open(sys.argv[1], sys.argv[2]); print('open', flush=True); time.sleep(60)"
DEAF = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); " + HOLD

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start() -> Iterator[Start]:
    """Return a function: start(file, mode) starts a process that has the file open."""
    children: list[subprocess.Popen[str]] = []

    def begin(file: Path, mode: str, program: str = HOLD) -> subprocess.Popen[str]:
        file.touch()
        process = subprocess.Popen(
            [sys.executable, "-c", program, str(file), mode], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        children.append(process)
        return process

    yield begin
    for process in children:
        process.kill()
        process.communicate()


def test_who_writes_in_the_folder_is_ended_however_deaf(tmp_path: Path, start: Start) -> None:
    polite, deaf = start(tmp_path / "a.log", "a"), start(tmp_path / "b.log", "w", DEAF)
    start_s = time.monotonic()
    stop_orphans(tmp_path)
    assert time.monotonic() - start_s < 60
    assert [polite.wait(60), deaf.wait(60)] == [-15, -9]


def test_readers_and_neighbours_are_left_alone(tmp_path: Path, start: Start) -> None:
    (tmp_path / "ray").mkdir()
    (tmp_path / "ray2").mkdir()
    reader, neighbour = start(tmp_path / "ray" / "log", "r"), start(tmp_path / "ray2" / "log", "w")
    stop_orphans(tmp_path / "ray")
    assert [reader.poll(), neighbour.poll()] == [None, None]


def test_a_launcher_imports_no_torch() -> None:
    script = (
        "import sys, service.launch.cluster, service.http.app, service.app; print('torch' in sys.modules)"
    )
    command = [sys.executable, "-c", script]
    assert subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout == "False\n"
