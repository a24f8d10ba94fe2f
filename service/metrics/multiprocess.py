"""The directory where the processes of a machine keep their metrics, without the files of dead processes.

prometheus-client writes a file for each process and kind of metric, named after the process id. Process ids are reused:
in a container that was restarted they begin at 1, and threads of other processes have some of them. A file belongs to a
process only while that process maps it into its memory.

A process that died has started, counted no end on request, and is gone. The next process of the same part names one of
them in the log, so that an operator finds the death in one line. Its cause is unknown here: its parent is a process of
Ray, whose own log has guesses. The empty file `death_<pid>_<number>` says that a death is in the log.
"""

from __future__ import annotations

import os
import re
import time
from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from prometheus_client.metrics_core import Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

LIVE_GAUGES = "gauge_live*_{}.db"  # files of gauges, which mean nothing without their process
SETTLED_S = 5.0  # age below which the process of a file may not have mapped it yet


class MachineCollector(Collector):
    """The metrics of all files in a directory. MultiProcessCollector takes the directory itself for a pattern."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def collect(self) -> Iterable[Metric]:
        """Return the metrics, those of several processes merged."""
        files = map(os.fspath, self._directory.glob("*.db"))
        metrics: Iterable[Metric] = MultiProcessCollector.merge(files)  # type: ignore[no-untyped-call]
        return metrics


def prepare_directory(directory: Path) -> None:
    """Remove the gauges of an earlier process with this process's id. Call it before any metric is written."""
    directory.mkdir(parents=True, exist_ok=True)  # a machine that joined a cluster has no directory yet
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


def is_mapped(file: Path, pid: int) -> bool:
    """Return True if the process with this id lives and has mapped the file."""
    return f"/{file.name}\n" in _read_maps(pid)


def _read_maps(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/maps").read_text(errors="replace")
    except OSError:  # no process has this id, or one of another user
        return ""


COUNTERS = "counter_*.db"
STARTS, ENDS = "errata_process_starts_total", "errata_process_ends_total"


def claim_death(directory: Path, part: str) -> int | None:
    """Return the process id of a process of this part whose death no other process has claimed, if there is one."""
    for file in directory.glob(COUNTERS):
        pid = int(file.stem.rpartition("_")[2])
        if (n_deaths := _count_missing_ends(file, part)) and not is_mapped(file, pid):
            try:
                (directory / f"death_{pid}_{n_deaths}").touch(exist_ok=False)
            except FileExistsError:
                continue
            return pid
    return None


def _count_missing_ends(file: Path, part: str) -> int:
    counts = {
        sample.name: sample.value
        for metric in MultiProcessCollector.merge([os.fspath(file)])  # type: ignore[no-untyped-call]
        for sample in metric.samples
        if sample.labels.get("part") == part
    }
    return int(counts.get(STARTS, 0) - counts.get(ENDS, 0))
