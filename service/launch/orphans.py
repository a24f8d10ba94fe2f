"""Finds what an earlier run left behind when it was killed, so that no start ever piles up on another.

Ray's processes name their session's folder on their command lines, and that folder is this service's alone: what
names it is ours. Where there is no /proc, Ray's own reaper has to do.
"""

from __future__ import annotations

import os
import signal
import time
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
    mark = os.fsencode(folder) + b"/"
    return [pid for pid in _processes() if pid != os.getpid() and mark in _command_line(pid)]


def _processes() -> list[int]:
    proc = Path("/proc")
    return [int(entry.name) for entry in proc.iterdir() if entry.name.isdecimal()] if proc.is_dir() else []


def _command_line(pid: int) -> bytes:
    """Empty for a process that is gone, a zombie, or somebody else's."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _signal(pid: int, how: signal.Signals) -> None:
    try:
        os.kill(pid, how)
    except (ProcessLookupError, PermissionError):
        return
