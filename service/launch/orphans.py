"""Finds what an earlier run left behind when it was killed, so that no start ever piles up on another.

Every process of Ray writes its log into the session's folder, and that folder is this service's alone: who has a
file in it open for writing is ours. (Who only reads one is a person with a pager.) Where there is no /proc, Ray's own
care has to do.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

GRACE_S = 3.0
POLL_S = 0.05


def stop_orphans(folder: Path) -> None:
    """Ends every other process that works in `folder`; asks first. Workers end with the raylet they belong to."""
    for how in (signal.SIGTERM, signal.SIGKILL):
        deadline = time.monotonic() + GRACE_S
        for pid in _working_in(folder):
            _signal(pid, how)
        while _working_in(folder) and time.monotonic() < deadline:
            time.sleep(POLL_S)


def _working_in(folder: Path) -> list[int]:
    place = f"{folder}/"
    found = (int(entry.name) for entry in _listed(Path("/proc")) if entry.name.isdecimal())
    return [pid for pid in found if pid != os.getpid() and any(_written(place, pid))]


def _written(place: str, pid: int) -> Iterator[bool]:
    for handle in _listed(Path(f"/proc/{pid}/fd")):
        with suppress(OSError):  # closed meanwhile
            yield os.readlink(handle).startswith(place) and _is_for_writing(pid, handle.name)


def _is_for_writing(pid: int, handle: str) -> bool:
    facts = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/fdinfo/{handle}").read_text().splitlines())
    return int(facts["flags"], 8) & os.O_ACCMODE != os.O_RDONLY


def _listed(folder: Path) -> list[Path]:
    """Nothing of a process that is gone, a zombie, or somebody else's."""
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _signal(pid: int, how: signal.Signals) -> None:
    try:
        os.kill(pid, how)
    except (ProcessLookupError, PermissionError):
        return
