"""Memory, open files and Redis connections of the service's processes, every two seconds of the run.

What grew is judged on processes that lived long enough: each is compared with itself, the first third of the time since
it was warm with the last. One that was killed before says nothing of growth, nor does one that has only begun.
"""

import json
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median_low

import psutil
import redis

from tests.chaos.life import Life

EVERY_S = 2.0
ROLES = {
    "valkey-server": "valkey",
    "ServeReplica:errata:ingress": "ingress",
    "ServeReplica:errata:editor": "editor",
    "ServeReplica:errata:": "replica",
    "ServeController": "controller",
    "ProxyActor": "Ray's proxy",
    "gcs_server": "gcs",
    "raylet/raylet": "raylet",
    "-m service": "launcher",
}
MEGABYTE = 1e6


@dataclass(frozen=True)
class Sample:
    """A measurement of one process. at: seconds since the load began. age_s: age of the process."""

    at: float
    pid: int
    role: str
    age_s: float
    rss: int
    files: int


@dataclass(frozen=True)
class Growth:
    """Growth of all processes together that could be compared."""

    role: str
    processes: int
    before: int
    after: int

    @property
    def share(self) -> float:
        return self.share_above(0.0)

    def share_above(self, room: float) -> float:
        """Return the share of growth above `room`."""
        return (self.after - self.before - room) / self.before if self.before else 0.0


class Watch:
    """Measures the processes again and again; call look() from a separate thread."""

    def __init__(self, life: Life, start_s: float) -> None:
        self._life, self.start_s = life, start_s
        self.samples: list[Sample] = []
        self.connections: list[tuple[float, int]] = []

    def look(self) -> None:
        at = time.monotonic() - self.start_s
        for pid in self._life.service.family():
            with suppress(psutil.Error):
                self._sample(at, psutil.Process(pid))
        with suppress(redis.RedisError, OSError):
            self.connections.append((at, self._life.redis_connections()))

    def _sample(self, at: float, process: psutil.Process) -> None:
        role = _role(" ".join(process.cmdline()))
        if role is not None:
            age_s = time.time() - process.create_time()
            memory, files = process.memory_info().rss, process.num_fds()
            self.samples.append(Sample(at, process.pid, role, age_s, memory, files))

    def write(self, path: Path) -> None:
        with path.open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(asdict(sample)) + "\n" for sample in self.samples)


def _role(command: str) -> str | None:
    return next((role for title, role in ROLES.items() if title in command), None)


@dataclass(frozen=True)
class Window:
    """The time in which samples count; a process is warm when it is `warm_s` old, and compared over `least_s`."""

    begin: float
    end: float
    warm_s: float
    least_s: float


def growth(samples: Iterable[Sample], window: Window, field: str) -> list[Growth]:
    """Compute growth by role. field: field of a sample that may not grow."""
    pairs: dict[str, list[tuple[int, int]]] = {}
    for process in _group_by_process(samples, window):
        values = [getattr(sample, field) for sample in process]
        pairs.setdefault(process[0].role, []).append(early_and_late(values))
    return [
        Growth(role, len(figures), sum(before for before, _ in figures), sum(after for _, after in figures))
        for role, figures in sorted(pairs.items())
    ]


def early_and_late(values: Sequence[int]) -> tuple[int, int]:
    """Return the median of the first third and of the last, because single moments depend on chance."""
    third = max(1, len(values) // 3)
    return median_low(values[:third]), median_low(values[-third:])


def _group_by_process(samples: Iterable[Sample], window: Window) -> list[list[Sample]]:
    """Group the samples of each process that was warm for long enough to be compared with itself."""
    warm: dict[int, list[Sample]] = {}
    for sample in samples:
        if window.begin <= sample.at <= window.end and sample.age_s >= window.warm_s:
            warm.setdefault(sample.pid, []).append(sample)
    return [process for process in warm.values() if process[-1].at - process[0].at >= window.least_s]


def together(parts: Iterable[Growth]) -> Growth:
    parts = list(parts)
    return Growth(
        "all",
        sum(part.processes for part in parts),
        sum(part.before for part in parts),
        sum(part.after for part in parts),
    )
