"""Freezes, thaws and kills one process by its number, and waits until it has happened."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from service.ledger.embedded.server import EmbeddedValkey


def pid_of(server: EmbeddedValkey) -> int:
    assert server.pid is not None
    return server.pid


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    deadline = time.monotonic() + 60
    while running(pid) and time.monotonic() < deadline:
        time.sleep(0.005)
    assert not running(pid)


def running(pid: int) -> bool:
    """Return whether a process is neither gone nor a zombie, with all its threads."""
    try:
        dead = "\nState:\tZ" in Path(f"/proc/{pid}/status").read_text()
        return not dead or len(list(Path(f"/proc/{pid}/task").iterdir())) > 1
    except (FileNotFoundError, ProcessLookupError):
        return False


@contextmanager
def frozen(pid: int) -> Iterator[None]:
    """Stop a process, which keeps its sockets and locks and does not answer."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        if running(pid):
            os.kill(pid, signal.SIGCONT)
