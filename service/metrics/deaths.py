"""Which processes of a part have died, as their files of metrics tell: they began, did not end as asked, and are gone.

A part's next process names one of them in the log, so that an operator reads in one line what happened. What killed it
nobody here can know: its parent is Ray's, which writes its guesses into its own log.

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
    """The process id of a process of this part that died, and whose death no other process has claimed."""
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
