"""A lock on a folder that ends with the process that holds it, however that process ends."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

POLL_S = 0.02


class FolderLock:
    """take(), then release(), or hand_over() to a child that inherited `fileno`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fd: int | None = None

    @property
    def held(self) -> bool:
        return self._fd is not None

    @property
    def fileno(self) -> int:
        assert self._fd is not None
        return self._fd

    @property
    def owner(self) -> str:
        """The process id that the holder left in the file."""
        return self._path.read_text(encoding="ascii", errors="replace").strip()

    def take(self, limit_s: float = 0.0) -> bool:
        """False when somebody else holds it for longer than limit_s."""
        fd = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        if not _locked_within(fd, limit_s):
            os.close(fd)
            return False
        os.ftruncate(fd, 0)
        os.write(fd, str(os.getpid()).encode())
        self._fd = fd
        return True

    def hand_over(self) -> None:
        """Forget our handle; the lock lives on in the child that has it too."""
        os.close(self.fileno)
        self._fd = None

    def release(self) -> None:
        if self._fd is not None:
            self.hand_over()


def _locked_within(fd: int, limit_s: float) -> bool:
    deadline = time.monotonic() + limit_s
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(POLL_S)
        else:
            return True
