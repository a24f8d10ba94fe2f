"""Counts the cores that a process may use: those it is scheduled on, limited by the quotas of its control groups.

`docker run --cpus`, Kubernetes' limits and systemd's CPUQuota do not take cores away: they are quotas of time, which
the threads of a process use up together, and then stop until the next period. Supported are control groups v1 and v2 of
Linux; loky, joblib and Ray read only the quota of the outermost group, which a systemd unit or a nested group lacks.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath

MEMBERSHIP, GROUPS = Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")


def count_cores(membership: Path = MEMBERSHIP, groups: Path = GROUPS) -> int:
    """Count the cores, at least one. A quota of 2.5 cores counts as two: a third thread would wait for the others."""
    n_cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, int(min([n_cores, *_read_quotas(membership, groups)])))


def _read_quotas(membership: Path, groups: Path) -> Iterator[float]:
    """Yield the quotas, in cores, of the process's groups and of all groups around them."""
    for folder in find_groups("cpu", membership, groups):
        with suppress(OSError, ValueError):
            yield _read_quota(folder)


def find_groups(controller: str, membership: Path = MEMBERSHIP, groups: Path = GROUPS) -> Iterator[Path]:
    """Yield the folders of the process's groups of a controller, and of all groups around them; some may not exist."""
    lines = membership.read_text().splitlines() if membership.exists() else []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers and controller not in controllers.split(","):
            continue
        # Version 2 lists no controllers, and has one mount for all. In a container the path may be the host's.
        mounts = (groups / controllers, groups / controller) if controllers else (groups, groups / "unified")
        group = PurePosixPath(path.lstrip("/"))
        yield from (mount / inner for mount in mounts for inner in (group, *group.parents))


def _read_quota(folder: Path) -> float:
    """Read the quota of a group; raise ValueError where it has none, OSError where there is no such group."""
    if (folder / "cpu.max").exists():
        quota, period = (folder / "cpu.max").read_text().split()
    else:
        quota = (folder / "cpu.cfs_quota_us").read_text()
        period = (folder / "cpu.cfs_period_us").read_text()
    if int(quota) < 0:
        raise ValueError("no quota")
    return int(quota) / int(period)
