"""The directory where the processes of a machine keep their metrics, without the files of dead processes.

prometheus-client writes a file for each process and kind of metric, named after the process id. Process ids are reused:
in a container that was restarted they begin at 1, and threads of other processes have some of them. A file belongs to a
process only while that process maps it into its memory. On a full disk a write to a mapped page without a block ends
the process, so blocks are reserved before they are mapped.
"""

from __future__ import annotations

import logging
import os
import re
import time
from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from mmap import mmap
from pathlib import Path

from prometheus_client import values
from prometheus_client.metrics_core import Metric
from prometheus_client.mmap_dict import MmapedDict
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

LIVE_GAUGES = "gauge_live*_{}.db"  # files of gauges, which mean nothing without their process
SETTLED_S = 5.0  # age below which the process of a file may not have mapped it yet
FIRST_BYTES = 1 << 16  # size of a new file
BESIDE_KEY_BYTES = 28  # most bytes of a value beside its key
RETRY_S = 1.0  # pause after a failure to extend a file

log = logging.getLogger(__name__)


class MachineCollector(Collector):
    """The metrics of all files in a directory, without the gauges of dead processes.

    MultiProcessCollector takes the directory itself for a pattern.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def collect(self) -> Iterable[Metric]:
        """Return the metrics, those of several processes merged."""
        remove_stale_gauges(self._directory)
        files = map(os.fspath, self._directory.glob("*.db"))
        metrics: Iterable[Metric] = MultiProcessCollector.merge(files)  # type: ignore[no-untyped-call]
        return metrics


class ReservedFile(MmapedDict):
    """A file of values. Values that find no room on the disk wait in memory, and the page lacks them meanwhile."""

    def __init__(self, filename: str) -> None:
        self._fname, self._capacity = filename, 0
        self._f = None  # type: ignore[assignment]
        self._positions: dict[str, int] = {}
        self._waiting: dict[str, tuple[float, float]] = {}
        self._retry_at = 0.0

    def read_value(self, key: str) -> tuple[float, float]:
        if self._has_room(key):
            return super().read_value(key)  # type: ignore[no-any-return, no-untyped-call]
        return self._waiting.setdefault(key, (0.0, 0.0))

    def write_value(self, key: str, value: float, timestamp: float) -> None:
        if self._has_room(key):
            super().write_value(key, value, timestamp)  # type: ignore[no-untyped-call]
        else:
            self._waiting[key] = (value, timestamp)

    def _has_room(self, key: str) -> bool:
        """Return True if the file has the key or room for it, after an attempt to extend a file that is too short."""
        if (self._waiting or not self._fits(key)) and time.monotonic() >= self._retry_at:
            try:
                self._extend()
            except OSError as error:
                if not self._waiting:
                    log.warning("metrics wait for room in %s: %s", self._fname, error.strerror)
                self._retry_at = time.monotonic() + RETRY_S
        return self._fits(key)

    def _fits(self, key: str) -> bool:
        if self._f is None:
            return False
        return key in self._positions or bool(
            self._used + len(key.encode()) + BESIDE_KEY_BYTES <= self._capacity
        )

    def _extend(self) -> None:
        """Create the file or double its size, and write what waited; raise OSError if there is no room."""
        if self._f is None:
            path = Path(self._fname)
            # a machine that joined a cluster has no directory yet
            path.parent.mkdir(parents=True, exist_ok=True)
            draft = path if path.exists() else path.with_suffix(".new")  # no reader finds an empty file
            with draft.open("ab") as file:
                os.posix_fallocate(file.fileno(), 0, max(FIRST_BYTES, file.tell()))
            draft.replace(path)
            super().__init__(self._fname)
        else:
            os.posix_fallocate(self._f.fileno(), 0, 2 * self._capacity)
            self._capacity *= 2
            self._m = mmap(self._f.fileno(), self._capacity)
        waiting, self._waiting = self._waiting, {}
        for key, (value, timestamp) in waiting.items():
            self.write_value(key, value, timestamp)


def prepare_directory(directory: Path) -> None:
    """Remove the gauges of an earlier process with this process's id. Call it before any metric is written."""
    values.MmapedDict = ReservedFile  # type: ignore[assignment, attr-defined]
    for file in directory.glob(LIVE_GAUGES.format(os.getpid())):
        file.unlink(missing_ok=True)


def remove_stale_gauges(directory: Path) -> None:
    """Remove the live gauges of dead processes: a killed process leaves them behind."""
    files_by_pid: dict[int, list[Path]] = defaultdict(list)
    for file in directory.glob(LIVE_GAUGES.format("*")):
        if match := re.search(r"_(\d+)\.db$", file.name):
            files_by_pid[int(match[1])].append(file)
    for pid, files in files_by_pid.items():
        maps = _read_maps(pid)
        for file in files:
            with suppress(FileNotFoundError):  # another reader of the page may have been quicker
                is_settled = time.time() - file.stat().st_mtime > SETTLED_S
                if f"/{file.name}\n" not in maps and (not maps or is_settled):
                    file.unlink()


def _read_maps(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/maps").read_text(errors="replace")
    except OSError:  # no process has this id, or one of another user
        return ""
