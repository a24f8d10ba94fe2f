"""Processes that a killed run left behind are ended before the next start.

Every process of Ray writes its log into the session's folder, which only this service uses: a process that has a file
in it open for writing is an orphan. (One that only reads is a person with a pager.) Without /proc, only Ray's own
clean-up is left.
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
    """End every other process that writes in `folder`, by SIGTERM, then by SIGKILL. Workers end with their raylet."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        deadline = time.monotonic() + GRACE_S
        for pid in _list_writers(folder):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)
        while _list_writers(folder) and time.monotonic() < deadline:
            time.sleep(POLL_S)


def _list_writers(folder: Path) -> list[int]:
    pids = [int(entry.name) for entry in _list_entries(Path("/proc")) if entry.name.isdecimal()]
    return [pid for pid in pids if pid != os.getpid() and any(_iterate_writes(pid, f"{folder}/"))]


def _iterate_writes(pid: int, prefix: str) -> Iterator[bool]:
    """Yield for each open file of a process below `prefix` whether it is open for writing."""
    for handle in _list_entries(Path(f"/proc/{pid}/fd")):
        with suppress(OSError):  # the file may be closed meanwhile
            if os.readlink(handle).startswith(prefix):
                lines = Path(f"/proc/{pid}/fdinfo/{handle.name}").read_text().splitlines()
                flags = int(dict(line.split(":", 1) for line in lines)["flags"], 8)
                yield flags & os.O_ACCMODE != os.O_RDONLY


def _list_entries(folder: Path) -> list[Path]:
    """List a folder; for a process that has ended, a zombie, or another user's process the list is empty."""
    try:
        return list(folder.iterdir())
    except OSError:
        return []
