"""How many cores a process may compute on: those it is scheduled on, and no more than its control groups pay for.

`docker run --cpus`, Kubernetes' limits and systemd's CPUQuota do not take cores away: they are quotas of time, which
threads of a process use up together, to be stopped until the next period. Linux, control groups v1 and v2; loky, joblib
and Ray read the quota of the outermost group alone, which a systemd unit or a nested group does not have.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath

MEMBERSHIP, GROUPS = Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")


def count_cores(membership: Path = MEMBERSHIP, groups: Path = GROUPS) -> int:
    """At least one; of a quota of two and a half cores, two: a third thread would wait for the others.

    Args:
        membership: the process's control groups, as /proc shows them.
        groups: where their file systems are mounted.
    """
    n_cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, int(min([n_cores, *_read_quotas(membership, groups)])))


def _read_quotas(membership: Path, groups: Path) -> Iterator[float]:
    """The quotas of the process's groups and of all around them, in cores."""
    lines = membership.read_text().splitlines() if membership.exists() else []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers and "cpu" not in controllers.split(","):
            continue
        # Version 2 has no controllers there, and one mount for all. In a container the path may be the host's.
        mounts = (groups / controllers, groups / "cpu") if controllers else (groups, groups / "unified")
        group = PurePosixPath(path.lstrip("/"))
        for folder in (mount / inner for mount in mounts for inner in (group, *group.parents)):
            with suppress(OSError, ValueError):
                yield _read_quota(folder)


def _read_quota(folder: Path) -> float:
    """Raises ValueError where there is none, OSError where there is no such group."""
    if (folder / "cpu.max").exists():
        quota, period = (folder / "cpu.max").read_text().split()
    else:
        quota = (folder / "cpu.cfs_quota_us").read_text()
        period = (folder / "cpu.cfs_period_us").read_text()
    if int(quota) < 0:
        raise ValueError("no quota")
    return int(quota) / int(period)
