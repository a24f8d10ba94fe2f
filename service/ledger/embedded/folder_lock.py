"""The lock of the folder of an embedded Valkey."""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import suppress
from pathlib import Path

POLL_S = 0.02


class FolderLock:
    """A lock to take(), and then to release() or to hand_over() to a child that inherited `fileno`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fd: int | None = None

    @property
    def is_taken(self) -> bool:
        return self._fd is not None

    @property
    def fileno(self) -> int:
        assert self._fd is not None
        return self._fd

    @property
    def owner(self) -> str:
        """The process id that the holder left in the file."""
        return self._path.read_text(encoding="ascii", errors="replace").strip()

    def take(self, timeout_s: float = 0.0) -> bool:
        """Take the lock; return False if another process holds it for longer than `timeout_s`."""
        fd = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        deadline = time.monotonic() + timeout_s
        while True:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    os.close(fd)
                    return False
                time.sleep(POLL_S)
            else:
                break
        self._fd = fd
        with suppress(OSError):  # a full disk has no room for the owner's name
            os.ftruncate(fd, 0)
            os.write(fd, str(os.getpid()).encode())
        return True

    def hand_over(self) -> None:
        """Close this handle; the child that inherited it holds the lock from now on."""
        os.close(self.fileno)
        self._fd = None

    def release(self) -> None:
        if self._fd is not None:
            self.hand_over()
