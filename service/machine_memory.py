"""The memory that a process may use: the machine's with its swap, or what its control groups allow."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from service.cores import GROUPS, MEMBERSHIP, find_groups

MACHINE = Path("/proc/meminfo")
LIMITS = ("memory.max", "memory.limit_in_bytes")  # files of control groups v2 and v1


def count_memory(machine: Path = MACHINE, membership: Path = MEMBERSHIP, groups: Path = GROUPS) -> int | None:
    """Return the bytes of memory, None where the system does not tell them."""
    return min([*_read_machine(machine), *_read_limits(membership, groups)], default=None)


def _read_machine(machine: Path) -> Iterator[int]:
    with suppress(OSError):
        sizes = re.findall(r"^(?:MemTotal|SwapTotal): +(\d+) kB", machine.read_text(), re.MULTILINE)
        yield 1024 * sum(map(int, sizes))


def _read_limits(membership: Path, groups: Path) -> Iterator[int]:
    for folder in find_groups("memory", membership, groups):
        for name in LIMITS:
            with suppress(OSError, ValueError):  # no such file, or no limit
                yield int((folder / name).read_text())
