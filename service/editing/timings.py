"""The seconds that each part of a commit takes, for its report and for the metrics."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Literal

from errata.wire import EditTimings

from service.metrics import metrics
from service.tracing import span

Part = Literal["editor", "report", "commit", "replicas"]
PARTS: tuple[Part, ...] = ("editor", "report", "commit", "replicas")


class Timings:
    """Adds up the seconds of each part of a commit."""

    def __init__(self) -> None:
        self._seconds: dict[Part, float] = defaultdict(float)

    @contextmanager
    def part(self, name: Part) -> Iterator[None]:
        start = perf_counter()
        try:
            with span(name):
                yield
        finally:
            self._seconds[name] += perf_counter() - start

    def to_wire(self) -> EditTimings:
        return EditTimings(**{f"{part}_ms": round(1e3 * self._seconds[part], 3) for part in PARTS})

    def publish(self) -> None:
        for part, seconds in self._seconds.items():
            metrics.COMMIT_PARTS.labels(part).observe(seconds)
