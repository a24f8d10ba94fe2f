"""Finds processes that died, by their files of metrics: they started, counted no end on request, and are gone.

The next process of the same part names one of them in the log, so that an operator finds the death in one line. Its
cause is unknown here: its parent is a process of Ray, whose own log has guesses.

Owns in the directory of the metrics the empty files `death_<pid>_<number>`: that death is in the log.
"""

from __future__ import annotations

import os
from pathlib import Path

from prometheus_client.multiprocess import MultiProcessCollector

from service.metrics.multiprocess import is_mapped

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
