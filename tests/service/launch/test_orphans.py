"""Only processes that an earlier run of this service left are ended: never another service, never a reader."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from service.launch.ledger import stop_orphans

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
