"""The folder where the processes of a machine keep their figures, and what is cleared there of those that are gone.

prometheus-client writes a file for each process and kind of figure, named after the process's number. Numbers are given
out again: in a container that was started anew they begin at 1, and the threads of others have some of them. A file is
a process's own only while that process has it in its memory.
"""

from __future__ import annotations

import os
import re
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

LIVE = "gauge_live*_{}.db"  # figures that mean nothing without their process
SETTLED_S = 5.0  # a file this young may be one that its process is about to map


def enter(folder: Path) -> None:
    """Of a process that has written nothing yet: an earlier one of its number may have left what is not so now."""
    folder.mkdir(parents=True, exist_ok=True)  # a machine that joined a cluster has none yet
    for file in folder.glob(LIVE.format(os.getpid())):
        file.unlink(missing_ok=True)


def bury(folder: Path) -> None:
    """Drop the live gauges of processes that are gone: nobody else does it for those that were killed."""
    for pid, files in _by_process(folder).items():
        mapped = _mapped(pid)
        for file in files:
            if f"/{file.name}\n" not in mapped and (not mapped or _is_settled(file)):
                file.unlink(missing_ok=True)  # another reader of the page may have been quicker


def _by_process(folder: Path) -> Mapping[int, Sequence[Path]]:
    found: dict[int, list[Path]] = defaultdict(list)
    for file in folder.glob(LIVE.format("*")):
        if number := re.search(r"_(\d+)\.db$", file.name):
            found[int(number[1])].append(file)
    return found


def _mapped(pid: int) -> str:
    """The files in the memory of a process, one at the end of each line. Nothing where there is none of ours."""
    try:
        return Path(f"/proc/{pid}/maps").read_text(errors="replace")
    except OSError:
        return ""


def _is_settled(file: Path) -> bool:
    try:
        return time.time() - file.stat().st_mtime > SETTLED_S
    except FileNotFoundError:
        return False
